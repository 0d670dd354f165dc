/** The sample project of the demo: small enough to read in a minute, real enough to be worth a review. */
export const SAMPLE_FILES: Readonly<Record<string, string>> = {
  "README.md": `# Teahouse

A teahouse in three functions.

Open the board with \`/kagan\`, press \`n\` and write a task, for example

- *Greet guests by their name*
- *Show prices in euros*
- *Let guests reserve a table*
`,
  "package.json": `{
  "name": "teahouse",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
`,
  ".gitignore": "node_modules/\n",
  "src/greet.js": `/** What a guest hears at the door. */
export function greet() {
  return "Welcome to the teahouse"
}
`,
  "src/menu.js": `export const menu = [
  { name: "Sencha", cents: 420 },
  { name: "Oolong", cents: 510 },
]

export function price(name) {
  const tea = menu.find((one) => one.name === name)
  return tea === undefined ? undefined : tea.cents
}
`,
  "test/greet.test.js": `import assert from "node:assert/strict"
import { test } from "node:test"
import { greet } from "../src/greet.js"

test("a guest is welcomed", () => {
  assert.equal(greet(), "Welcome to the teahouse")
})
`,
}
