import { readdirSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import hostPackage from "opencode-ai/package.json" with { type: "json" }
import { documentFile, sections, splitDocument } from "../host/contract/facts.ts"
import { checkout } from "../kit/sandbox.ts"

const document = await readFile(documentFile, "utf8")
const { bodies } = splitDocument(document)
const rows = [...bodies.values()].flatMap((body) =>
  body.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| fact ") && !line.startsWith("| --- ")),
)

test("the host contract has one section for each file that measures, in the order of the list", () => {
  const files = readdirSync(join(checkout, "test/host/contract"))
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => file.replace(".test.ts", ""))
  expect(Object.keys(sections).toSorted()).toEqual(files.toSorted())
  expect([...bodies.keys()]).toEqual(Object.keys(sections))
})

test("the host contract names the host that is installed, and every fact in it holds", () => {
  expect(document).toContain(`\`opencode-ai\` ${hostPackage.version}`)
  expect(rows.length).toBeGreaterThan(100)
  expect(rows.filter((row) => row.includes("✗"))).toEqual([])
})

test("each fact of the host contract cites where it is stated, and none stands there twice", () => {
  const cited = /^\| (idioms §\d+|facts §\d+|M\d+)(, (like )?(idioms §\d+|facts §\d+|M\d+))* \| /
  expect(rows.filter((row) => !cited.test(row))).toEqual([])
  const sentences = rows.map((row) => row.split(" | ")[1])
  expect(sentences.filter((sentence, i) => sentences.indexOf(sentence) !== i)).toEqual([])
})
