import { afterEach, describe, expect, test } from "vitest"
import type { ReplyOf } from "../../src/core/protocol.ts"
import { fileRows, findingAt, findingRows, patchRows } from "../../src/tui/review/rows.ts"
import { finding, inReview, validatorOf, workingDay } from "./cards.ts"
import { openStage, START, type Stage, type StageOptions } from "./stage.tsx"

const PATCH = `diff --git a/src/webhooks/deliver.ts b/src/webhooks/deliver.ts
--- a/src/webhooks/deliver.ts
+++ b/src/webhooks/deliver.ts
@@ -41,3 +41,4 @@ export async function deliver()
   const res = await post(url, body)
-  if (!res.ok) throw new DeliveryError(res.status)
+  for (let n = 0; !res.ok && n < max; n++) {
+    await sleep(delay(n))
   return res
@@ -90,2 +91,3 @@
   last()
+\tif (ok) {\u202e // \u2066begin

\\ No newline at end of file
`

const file = (path: string, patch = PATCH, insertions = 3, deletions = 1) => ({
  path,
  kind: "modified",
  insertions,
  deletions,
  patch,
})
const DIFF: ReplyOf<"review.diff"> = {
  snapshot: "7be21c0",
  base: "a4e9000",
  files: [
    file("src/webhooks/deliver.ts"),
    { ...file("assets/logo.png", "", 0, 0), kind: "binary", note: "binary file, 4 KiB" },
    file("src/a/rather/deep/folder/with-a-long-name.ts", "@@ -1 +1 @@\n-a\n+b\n", 1, 1),
  ],
  left: [],
}

let stage: Stage | undefined
afterEach(() => {
  stage?.close()
  stage = undefined
})
const open = async (options: StageOptions) =>
  (stage = await openStage({
    width: 160,
    height: 45,
    route: { name: "kagan.review", params: { sessionID: "ses_26" } },
    ...workingDay(),
    ...options,
    answers: { "review.diff": () => DIFF, "findings.rule": () => ({ text: "" }), ...options.answers },
  }))

describe("the review screen", () => {
  test.each([
    [160, 45],
    [80, 24],
    [40, 12],
  ])("%i×%i", async (width, height) => {
    const { lines } = await open({ width, height })
    await expect(lines().join("\n")).toMatchFileSnapshot(`frames/review-${width}x${height}.txt`)
  })

  test("where only one pane fits, Tab changes between list and diff", async () => {
    const screen = await open({ width: 60, height: 20 })
    screen.shows("Findings")
    await screen.press("tab")
    screen.shows("const res = await post")
    screen.showsNot("Findings")
  })

  test("what hides in a diff is made visible (C075)", async () => {
    const screen = await open({})
    screen.shows("if (ok) {<202E> // <2066>begin")
  })

  test("a ruling goes to the server half, and the next open finding is selected", async () => {
    const screen = await open({})
    screen.shows("▌▲ F1 The signature is computed")
    await screen.press("f")
    expect(screen.server.asked()).toEqual([
      { type: "findings.rule", sessionID: "ses_26", rulings: [{ finding: "F1", disposition: "fix" }] },
    ])
    screen.shows("▌▲ F3 Changes the public API")
  })

  test("the next key is meant for the next finding, also before the answer to the last one is there", async () => {
    const screen = await open({ answers: { "findings.rule": () => new Promise<never>(() => {}) } })
    await screen.press("f", "f")
    expect(screen.server.asked()).toMatchObject([
      { rulings: [{ finding: "F1", disposition: "fix" }] },
      { rulings: [{ finding: "F3", disposition: "fix" }] },
    ])
  })

  test("setting a heavy finding aside needs a reason that says something", async () => {
    const screen = await open({})
    await screen.press("g")
    screen.shows("F1 is ignored: why?")
    await screen.type("lgtm")
    await screen.press("enter")
    screen.shows("a reason says why")
    expect(screen.server.asked()).toEqual([])
    await screen.type(", the receiver allows an hour")
    await screen.press("enter")
    expect(screen.server.asked()).toMatchObject([
      { rulings: [{ finding: "F1", disposition: "ignored", reason: "lgtm, the receiver allows an hour" }] },
    ])
  })

  test("a file can be read; its finding stands on its line", async () => {
    const screen = await open({})
    await screen.press("j", "j", "j", "j")
    screen.shows("binary file, 4 KiB")
    await screen.press("k")
    const lines = screen.lines()
    const cited = lines.findIndex((line) => line.includes("await sleep(delay(n))"))
    expect(lines[cited + 1]).toContain("F1 bug · high · 7/10")
  })

  test("J and K go from hunk to hunk, PgDn and PgUp page", async () => {
    const long = Array.from({ length: 80 }, (_, i) => `+line ${i}`).join("\n")
    const patch = `@@ -0,0 +1,80 @@\n${long}\n@@ -100 +180,2 @@\n x\n+the end\n`
    const screen = await open({ answers: { "review.diff": () => ({ ...DIFF, files: [file("a.ts", patch)] }) } })
    await screen.press("j", "j", "j")
    screen.shows("+ line 0")
    await screen.press("J")
    screen.shows("+ the end")
    await screen.press("K")
    screen.shows("+ line 0")
  })

  test("without a server half the findings can still be read", async () => {
    const screen = await open({ server: false })
    await screen.clock.advance(60_000)
    await screen.settle()
    screen.shows("F1 bug · high")
    await screen.press("f")
    screen.shows("cannot act")
  })

  test("a approves from here and leads back to the board", async () => {
    const merged = { commit: "abc1234", target: "main", text: "merged" }
    const screen = await open({
      sessions: [
        inReview(26, "Ruled", { findings: 1, ruled: 1 }),
        validatorOf(26, [finding("F1")], [{ finding: "F1", disposition: "intended", snapshot: "7be21c0", at: START }]),
      ],
      answers: { "task.approve": () => merged },
    })
    screen.shows("a approve")
    await screen.press("a", "enter")
    expect(screen.host.route().name).toBe("kagan.board")
  })

  test("q goes back to the board", async () => {
    const screen = await open({})
    await screen.press("q")
    screen.shows("╭ Backlog")
  })

  test("a task that is gone is said, not crashed on", async () => {
    const screen = await open({ sessions: [] })
    screen.shows("not on the board any more")
  })
})

describe("rows of a diff", () => {
  test("numbers on both sides, a missing newline as a note, a bare blank line as context (C036)", () => {
    const rows = patchRows(file("a.ts"))
    expect(rows.map((row) => [row.kind, "gutter" in row ? row.gutter : "", row.text])).toEqual([
      ["hunk", "", "@@ -41,3 +41,4 @@ export async function deliver()"],
      ["context", "  41   41 ", "  const res = await post(url, body)"],
      ["delete", "  42      ", "  if (!res.ok) throw new DeliveryError(res.status)"],
      ["add", "       42 ", "  for (let n = 0; !res.ok && n < max; n++) {"],
      ["add", "       43 ", "    await sleep(delay(n))"],
      ["context", "  43   44 ", "  return res"],
      ["hunk", "", "@@ -90,2 +91,3 @@"],
      ["context", "  90   91 ", "  last()"],
      ["add", "       92 ", "    if (ok) {<202E> // <2066>begin"],
      ["context", "  91   93 ", ""],
      ["note", "", "no newline at the end"],
    ])
  })

  test("a finding stands below the line that it cites, on the new side; others stand above the diff", () => {
    const on = finding("F1", { location: { path: "a.ts", line: 43 }, citation: "verified" })
    const off = finding("F2", { location: { path: "a.ts", line: 900 }, citation: "no_line" })
    const rows = fileRows(file("a.ts"), [{ finding: on }, { finding: off }], 60)
    expect(findingAt(rows, "F2")).toBe(0)
    const at = findingAt(rows, "F1")
    expect(rows[at - 1]).toMatchObject({ kind: "add", line: 43 })
    expect(rows[0]).toMatchObject({ text: expect.stringContaining("line not in diff") })
  })

  test("a URL of 900 characters is read in whole, wrapped into the width (C071)", () => {
    const url = `https://example.org/${"x".repeat(880)}`
    const rows = findingRows({ finding: finding("F1", { detail: url }) }, 40)
    const text = rows.filter((row) => row.kind === "finding" && row.part === "text").map(({ text: line }) => line)
    expect(text.slice(1).join("")).toBe(url)
    for (const line of text) expect(line.length).toBeLessThanOrEqual(37)
  })

  test("a patch with nothing in it says what kind of change it is", () => {
    expect(patchRows({ ...file("a", ""), kind: "mode changed" })).toEqual([
      { kind: "note", text: "mode changed: no lines to show" },
    ])
  })
})
