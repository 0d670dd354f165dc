/** The sample project of the demo: small enough to read in a minute, real enough to be worth a review. */
export const SAMPLE_FILES: Readonly<Record<string, string>> = {
  "README.md": `# Teahouse

Greets the guests of a teahouse.

    node src/greet.js

Open the board with \`/kagan\`, press \`n\` and write a task, for example *Greet guests by their name*.
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

/** The task that the demo is written for; any other title works too, with a smaller change. */
export const SAMPLE_TASK = {
  title: "Greet guests by their name",
  description: "Whoever says their name at the door is greeted by it.",
}

/** What the scripted agent writes for the sample task, per iteration. */
export const GREET_BY_NAME: readonly [first: string, later: string] = [
  `/** What a guest hears at the door. */
export function greet(name) {
  return \`Welcome to the teahouse, \${name}\`
}
`,
  `/** What a guest hears at the door. */
export function greet(name) {
  const known = name?.trim()
  return known ? \`Welcome to the teahouse, \${known}\` : "Welcome to the teahouse"
}
`,
]
