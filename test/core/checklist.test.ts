import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { judgeChecklist, parseChecklist } from "../../src/core/checklist.ts"

describe("a Markdown checklist", () => {
  test("its items are tasks, what is indented below them their descriptions", () => {
    const text = `# Release

Some words.

- [ ] Greet the reader
  In \`greeting.txt\`.

  - [ ] in English
  - [x] by name
* [x] Set up the repository
1. [ ] Say goodbye
\t- with a tab
+ [ ]   Spaces around   

- not an item
- [] nor this
- [ ]
`
    expect(parseChecklist(text)).toEqual([
      {
        title: "Greet the reader",
        description: "In `greeting.txt`.\n\n- [ ] in English\n- [x] by name",
        done: false,
      },
      { title: "Set up the repository", description: "", done: true },
      { title: "Say goodbye", description: "- with a tab", done: false },
      { title: "Spaces around", description: "", done: false },
    ])
  })

  test("whatever is pasted, nothing throws, and every title is one line with something in it", () => {
    const line = fc.oneof(fc.string(), fc.constantFrom("- [ ] a", "  - [x] b", "* [ ] ", "\t\r\n"))
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        for (const { title } of parseChecklist(lines.join("\n"))) expect(title).toMatch(/^\S(.*\S)?$/)
      }),
    )
  })

  test("lines of other systems are lines", () => {
    expect(parseChecklist("- [ ] a\r\n- [ ] b\r- [ ] c").map(({ title }) => title)).toEqual(["a", "b", "c"])
  })
})

describe("what becomes of the items", () => {
  const verdicts = (text: string, titles: string[]) =>
    judgeChecklist(parseChecklist(text), titles).map(({ verdict }) => verdict)

  test("what is ticked off, named like a task, or twice in the list is not created", () => {
    const text = "- [ ] New\n- [x] Done\n- [ ] Known\n- [ ] new\n- [ ] **New**  one"
    expect(verdicts(text, ["KNOWN ", "other"])).toEqual(["new", "done", "known", "known", "new"])
  })

  test("a second import of the same list creates nothing", () => {
    const items = parseChecklist("- [ ] One `file`\n- [ ] Two\n- [ ] Three")
    const created = judgeChecklist(items, []).map(({ title }) => title)
    expect(judgeChecklist(items, created).every(({ verdict }) => verdict === "known")).toBe(true)
  })
})
