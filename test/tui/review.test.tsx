import { afterEach, describe, expect, test } from "vitest"
import type { Comment } from "../../src/core/comments.ts"
import type { ReplyOf, RequestOf } from "../../src/core/protocol.ts"
import type { ReviewFileReply } from "../../src/core/review-requests.ts"
import { finding, inReview, validatorOf, workingDay } from "./cards.ts"
import { openStage, START, type Stage, type StageOptions } from "./stage.tsx"

const PATCH = `@@ -41,3 +41,4 @@ export async function deliver()
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
const [FROM, TO] = ["a".repeat(40), "7be21c0".padEnd(40, "0")]

const change = (path: string, patch = PATCH, over: Partial<ReviewFileReply> = {}): ReviewFileReply => ({
  path,
  kind: "modified",
  insertions: 3,
  deletions: 1,
  patch,
  ...over,
})
const FILES = [
  change("src/webhooks/deliver.ts"),
  change("assets/logo.png", "", {
    kind: "binary",
    note: "modified binary",
    folded: "binary",
    insertions: 0,
    deletions: 0,
  }),
  change("src/a/rather/deep/folder/with-a-long-name.ts", "@@ -1 +1 @@\n-a\n+b\n", { insertions: 1, deletions: 1 }),
]

/** A server half that has this change, and answers each file when it is asked for. */
function reading(files: readonly ReviewFileReply[] = FILES, over: Partial<ReplyOf<"review.files">> = {}) {
  return {
    "review.files": ({ since }: RequestOf<"review.files">): ReplyOf<"review.files"> => ({
      from: since === "base" ? FROM : "b".repeat(40),
      to: TO,
      files: (since === "base" ? files : files.slice(0, 1)).map(({ path, kind }) => ({
        path,
        kind,
        object: `o-${path}`,
      })),
      left: [],
      viewed: [],
      since: ["base"],
      ...over,
    }),
    "review.sizes": (): ReplyOf<"review.sizes"> => ({
      sizes: files.map(({ path, kind, insertions, deletions }) => [
        path,
        kind === "binary" ? null : [insertions, deletions],
      ]),
    }),
    "review.file": ({ path, whole }: RequestOf<"review.file">): ReplyOf<"review.file"> => {
      const { folded, ...file } = files.find((one) => one.path === path)!
      return whole
        ? { ...file, ...(folded ? { dump: "000000  00 01" } : {}) }
        : { ...file, ...(folded ? { folded } : {}) }
    },
    "review.viewed": () => ({ text: "" }),
  }
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
    answers: { ...reading(), "findings.rule": () => ({ text: "" }), ...options.answers },
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

  test("both sides stand beside each other on u, and on a wide screen by themselves", async () => {
    const screen = await open({ width: 160, height: 20 })
    await screen.press("u")
    await expect(screen.lines().join("\n")).toMatchFileSnapshot("frames/review-split-160x20.txt")
    await screen.resize(200, 20)
    await screen.press("u")
    screen.showsNot(/throw new DeliveryError\(res.status\).*for \(let n/)
  })

  test("where only one pane fits, Tab changes between list and diff", async () => {
    const screen = await open({ width: 60, height: 20 })
    screen.shows("const res = await post")
    screen.showsNot("Files 3")
    await screen.press("tab")
    screen.shows("Files 3")
    screen.showsNot("const res = await post")
  })

  test("what hides in a diff is made visible (C075)", async () => {
    const screen = await open({})
    screen.shows("if (ok) {<202E> // <2066>begin")
  })

  test("a ruling goes to the server half, and the next open finding is selected", async () => {
    const screen = await open({})
    screen.shows("▌  ▲ F1 The signature is computed")
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

  test("several at once only where they were looked at, and the rest is counted", async () => {
    const screen = await open({})
    await screen.press("G")
    screen.shows("Rule on 1 findings at once")
    screen.shows("1 more are left out")
    await screen.press("esc", "n", "N", "G")
    screen.shows("Rule on 2 findings at once")
    await screen.press("i")
    screen.shows("2 findings are intended: why?")
    await screen.type("agreed with the team on Monday")
    await screen.press("enter")
    expect(screen.server.asked()).toMatchObject([
      {
        rulings: [
          { finding: "F1", disposition: "intended", reason: "agreed with the team on Monday" },
          { finding: "F3", disposition: "intended", reason: "agreed with the team on Monday" },
        ],
      },
    ])
  })

  test("the cursor goes from line to line; a finding stands below the line that it cites", async () => {
    const screen = await open({})
    const lines = screen.lines()
    const cited = lines.findIndex((line) => line.includes("await sleep(delay(n))"))
    expect(lines[cited + 1]).toContain("│▌┌ F1 bug · high · 7/10")
    await screen.press("k")
    screen.shows(/│▌ +43 \+ +await sleep/)
  })

  test("colours that come late, and a server half that says hello again, leave the cursor where it is", async () => {
    const coloured = Promise.withResolvers<readonly [number, number, string][]>()
    const screen = await open({ highlight: () => coloured.promise as never })
    const read = () => screen.server.requests.filter(({ type }) => type === "review.file").length
    const before = read()
    await screen.press("j")
    screen.shows(/▌ +43 +44 +return res/)
    coloured.resolve([[2, 7, "keyword"]])
    await screen.settle()
    screen.shows(/▌ +43 +44 +return res/)
    screen.server.up()
    await screen.settle()
    screen.shows(/▌ +43 +44 +return res/)
    expect(read()).toBe(before)
  })

  test("a file's lines are asked for when it is looked at; what is no text is opened on demand", async () => {
    const screen = await open({})
    const asked = () => screen.server.requests.filter(({ type }) => type === "review.file").map(({ body }) => body.path)
    expect(asked()).toEqual(["src/webhooks/deliver.ts"])
    await screen.press("]")
    screen.shows("binary: Enter shows its first bytes.")
    expect(asked()).toEqual(["src/webhooks/deliver.ts", "assets/logo.png"])
    await screen.press("enter")
    screen.shows("000000  00 01")
  })

  test("J and K go from hunk to hunk, PgDn and PgUp page", async () => {
    const long = Array.from({ length: 80 }, (_, i) => `+line ${i}`).join("\n")
    const patch = `@@ -0,0 +1,80 @@\n${long}\n@@ -100 +180,2 @@\n x\n+the end\n`
    const screen = await open({ answers: reading([change("a.ts", patch)]) })
    await screen.press("[")
    screen.shows("+ line 0")
    await screen.press("J")
    screen.shows("+ the end")
    await screen.press("K")
    screen.shows("+ line 0")
    await screen.press("pagedown")
    screen.showsNot("+ line 0 ")
    screen.shows("+ line 50")
  })

  test("l shifts long lines as far as there is something to see, and h back", async () => {
    const patch = `@@ -0,0 +1,2 @@\n+short line\n+${"-".repeat(110)}end\n`
    const screen = await open({ answers: reading([change("a.ts", patch)]) })
    await screen.press("[")
    screen.shows("+ short line")
    screen.showsNot("---end")
    for (let n = 0; n < 20; n++) await screen.press("l")
    screen.shows("---end")
    screen.showsNot("short line")
    for (let n = 0; n < 20; n++) await screen.press("h")
    screen.shows("+ short line")
  })

  test("l leaves lines alone that are seen whole", async () => {
    const screen = await open({ answers: reading([change("a.ts", "@@ -0,0 +1 @@\n+short line\n")]) })
    await screen.press("[", "l", "l", "l")
    screen.shows("+ short line")
  })

  test("z folds a hunk and opens it again", async () => {
    const screen = await open({})
    await screen.press("k", "z")
    screen.shows("3 changed lines, folded")
    screen.showsNot("await sleep")
    await screen.press("enter")
    screen.shows("await sleep")
  })

  test("a filter narrows the list as it is typed, an unknown mark is named, and Esc leaves it as it was", async () => {
    const screen = await open({})
    await screen.press("/")
    await screen.type("deep")
    screen.shows("Files 1 of 3")
    await screen.type(" is:odd")
    await screen.press("enter")
    screen.shows("there is no is:odd")
    await screen.press("esc")
    screen.shows("Files 3")
  })

  test("m marks the file with its content and goes to the next unread one; the mark is taken back on refusal", async () => {
    const screen = await open({})
    await screen.press("m")
    expect(screen.server.asked()).toEqual([
      {
        type: "review.viewed",
        sessionID: "ses_26",
        path: "src/webhooks/deliver.ts",
        object: "o-src/webhooks/deliver.ts",
        viewed: true,
      },
    ])
    screen.shows("─ assets/logo.png")
    screen.server.answers["review.viewed"] = () => ({ kind: "failed", text: "the disk is full" })
    await screen.press("m")
    screen.shows("not marked: the disk is full")
    screen.showsNot("✓ logo.png")
  })

  test("d shows what changed since the last iteration and since the last look; comments stand on the whole change", async () => {
    const screen = await open({ answers: reading(FILES, { since: ["base", "generation", "look"] }) })
    await screen.press("d")
    screen.shows("since the last iteration")
    screen.shows("Files 1")
    await screen.press("c")
    screen.shows("comments stand on the whole change")
    await screen.press("d")
    screen.shows("since your last look")
    await screen.press("d")
    screen.shows("against main")
    screen.shows("Files 3")
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

  test("what stands in the way of an approval is said and gone to", async () => {
    const screen = await open({})
    await screen.press("]", "a")
    screen.shows("2 findings have no ruling")
    screen.shows("▌▲ F3")
  })

  test("a task that follows from a finding names the task and the place", async () => {
    const screen = await open({})
    await screen.press("F")
    screen.shows("The signature is computed once")
    screen.shows("Follows from the review of #26 (F1, src/webhooks/deliver.ts:43).")
  })

  test("and is kept apart from what is half typed for another new task, and from what follows elsewhere", async () => {
    const screen = await open({
      answers: { "task.create": () => ({ sessionID: "ses_9", taskNumber: 9, text: "made" }) },
    })
    await screen.press("q", "n")
    await screen.type("Half typed")
    await screen.press("esc", "3", "v")
    screen.shows("F1")
    await screen.press("F")
    await screen.type(", soon")
    await screen.press("esc", "F")
    screen.shows("The signature is computed once, soon")
    await screen.press("esc", "]", "]", "F")
    screen.showsNot("soon")
    await screen.press("esc", "q", "n")
    screen.shows("Half typed")
    screen.showsNot("signature is computed")
    await screen.press("esc", "v", "F", "enter")
    expect(screen.server.asked().at(-1)).toMatchObject({ title: "The signature is computed once, soon" })
    await screen.press("F")
    screen.showsNot("soon")
    await screen.press("esc", "q", "n")
    screen.shows("Half typed")
  })

  test("q goes back to the board", async () => {
    const screen = await open({})
    await screen.press("q")
    screen.shows("╭ Backlog")
  })

  test("Esc takes away the notices first and leaves the review then; q leaves it at once", async () => {
    const screen = await open({})
    screen.app.tell({ level: "error", text: "it went wrong" })
    await screen.settle()
    screen.shows("it went wrong")
    await screen.press("esc")
    screen.showsNot("it went wrong")
    expect(screen.host.route().name).toBe("kagan.review")
    await screen.press("esc")
    expect(screen.host.route().name).toBe("kagan.board")
  })

  /** A review whose file answers only when it is let go. */
  async function late() {
    const gate = Promise.withResolvers<void>()
    const answers = reading()
    const screen = await open({
      sessions: [inReview(26, "Late", { findings: 0 })],
      facts: [],
      answers: {
        "review.file": async (request) => {
          await gate.promise
          return answers["review.file"](request)
        },
      },
    })
    return {
      screen,
      async arrive() {
        gate.resolve()
        await screen.settle()
      },
    }
  }
  test("moves that were pressed before the lines were there are made when they are", async () => {
    const { screen, arrive } = await late()
    await screen.press("J", "j")
    await arrive()
    await screen.press("V", "c")
    screen.shows("Comment on src/webhooks/deliver.ts:91")
  })

  test("moves that wait are given up by whatever else is done; a comment waits for its line", async () => {
    const { screen, arrive } = await late()
    await screen.press("J", "j", "c")
    screen.shows("its lines are being read")
    expect(screen.host.dialogs()).toBe(0)
    await arrive()
    await screen.press("j", "V", "c")
    screen.shows("Comment on src/webhooks/deliver.ts:41")
  })

  test("a task that is gone is said, not crashed on", async () => {
    const screen = await open({ sessions: [] })
    screen.shows("not on the board any more")
  })

  test("changed words and syntax have colours of the theme", async () => {
    const screen = await open({ highlight: async (text) => [[0, text.indexOf("res") - 1, "keyword"]] })
    const spans = screen.spans().lines.flatMap((line) => line.spans)
    const theme = screen.app.theme()
    const fgOf = (text: string) => spans.find((span) => span.text.includes(text))?.fg
    expect(fgOf("  const")).toEqual(theme.syntaxKeyword)
    expect(fgOf("await sleep")).toEqual(theme.text)
  })
})

describe("comments", () => {
  const comment = (id: string, over: Partial<Comment> = {}): Comment => ({
    id,
    text: "Why not for 4xx?\nThey never heal.",
    location: { path: "src/webhooks/deliver.ts", line: 42 },
    by: "Ann",
    at: START,
    snapshot: TO,
    base: FROM,
    generation: 1,
    disposition: "fix",
    ...over,
  })
  /** The working day with comments on #26, as the server half keeps them. */
  function withComments(list: readonly Comment[]): StageOptions {
    const day = workingDay()
    const counts = { total: list.length, fix: list.length, generation: 1, at: START }
    const sessions = day.sessions.map((session) => {
      const kagan = session.metadata?.kagan as Record<string, unknown>
      return kagan?.taskNumber === 26 ? { ...session, metadata: { kagan: { ...kagan, comments: counts } } } : session
    })
    return { ...day, sessions, answers: { "comments.list": () => ({ comments: list }) } }
  }

  test("c on a line: the words go to the server half with the line and what stands there", async () => {
    const screen = await open({ answers: { "comment.add": () => ({ id: "C1", text: "C1 is kept" }) } })
    await screen.press("k", "c")
    screen.shows("Comment on src/webhooks/deliver.ts:43")
    await screen.type("Cap it")
    await screen.press("enter")
    expect(screen.server.asked()).toEqual([
      {
        type: "comment.add",
        sessionID: "ses_26",
        location: { path: "src/webhooks/deliver.ts", line: 43 },
        quote: "    await sleep(delay(n))",
        text: "Cap it",
      },
    ])
  })

  test("V and j, or shift and an arrow, mark a range; on removed lines alone the old side counts", async () => {
    const screen = await open({ answers: { "comment.add": () => ({ id: "C1", text: "" }) } })
    const added = () => screen.server.asked().at(-1)
    await screen.press("k", "k", "V", "k")
    screen.shows("range:")
    await screen.press("esc")
    screen.showsNot("range:")
    await screen.press("j", "V")
    await screen.press("j")
    await screen.press("V")
    await screen.press("c")
    screen.shows("Comment on src/webhooks/deliver.ts:43")
    await screen.press("esc")
    await screen.press("shift+up", "c")
    await screen.type("Both")
    await screen.press("enter")
    expect(added()).toMatchObject({ location: { line: 42, endLine: 43 }, text: "Both" })
    await screen.press("k", "c")
    screen.shows("before the change")
    await screen.type("Keep it")
    await screen.press("enter")
    expect(added()).toMatchObject({ location: { line: 42 }, side: "old" })
  })

  test("on the file from the list, and on the task", async () => {
    const screen = await open({ answers: { "comment.add": () => ({ id: "C1", text: "" }) } })
    await screen.press("tab", "k", "c")
    await screen.type("Too long")
    await screen.press("enter")
    await screen.press("C")
    await screen.type("And the docs?")
    await screen.press("enter")
    expect(screen.server.asked()).toEqual([
      { type: "comment.add", sessionID: "ses_26", location: { path: "src/webhooks/deliver.ts" }, text: "Too long" },
      { type: "comment.add", sessionID: "ses_26", text: "And the docs?" },
    ])
  })

  test("what was typed is kept over Esc, a refusal and a restart", async () => {
    const kv: Record<string, unknown> = {}
    const failed = { kind: "failed" as const, text: "the disk is full" }
    const first = await open({ kv, answers: { "comment.add": () => failed } })
    await first.press("k", "c")
    await first.type("Half a thou")
    await first.press("esc", "c")
    first.shows("Half a thou")
    await first.type("ght")
    await first.press("enter")
    first.shows("the disk is full")
    first.close()
    const again = await open({ kv, answers: { "comment.add": () => ({ id: "C1", text: "" }) } })
    await again.press("k", "c")
    again.shows("Half a thought")
    await again.press("enter", "c")
    again.showsNot("Half a thought")
  })

  test("they stand on their lines with who wrote them, and an outdated one says so", async () => {
    const screen = await open(
      withComments([
        comment("C1"),
        comment("C2", { text: "Gone", outdated: true, quote: "old()" }),
        comment("C3", { text: "On all of it", location: undefined }),
      ]),
    )
    const lines = screen.lines()
    const line = lines.findIndex((one) => one.includes("for (let n = 0"))
    expect(lines[line + 1]).toContain("┌ C1 comment · Ann")
    screen.shows("C2 comment · Ann · outdated: its line was changed")
    screen.shows("The line was: old()")
    screen.shows("On the task")
    screen.shows("3 comments")
  })

  test("e edits, x deletes after a question, g settles, and what was sent back says when", async () => {
    const done = () => ({ text: "" })
    const options = withComments([comment("C1")])
    const screen = await open({
      ...options,
      answers: { ...options.answers, "comment.edit": done, "comment.delete": done },
    })
    await screen.press("k", "k")
    await screen.press("e")
    await screen.type(" Or ever.")
    await screen.press("enter")
    await screen.press("x")
    screen.shows("Delete C1?")
    await screen.press("y", "g")
    expect(screen.server.asked()).toEqual([
      { type: "comment.edit", sessionID: "ses_26", id: "C1", text: "Why not for 4xx?\nThey never heal. Or ever." },
      { type: "comment.delete", sessionID: "ses_26", id: "C1" },
      { type: "findings.rule", sessionID: "ses_26", rulings: [{ finding: "C1", disposition: "ignored" }] },
    ])
  })

  test("one of an earlier iteration says that it was sent", async () => {
    const options = withComments([comment("C1")])
    const later = options.sessions!.map((session) => {
      const kagan = session.metadata?.kagan as Record<string, unknown>
      return kagan?.taskNumber === 26 ? { ...session, metadata: { kagan: { ...kagan, generation: 2 } } } : session
    })
    const screen = await open({ ...options, sessions: later })
    screen.shows("sent back in iteration 1")
  })
})

describe("sending back", () => {
  const TEXT = "The review of task #26 is done.\n\n<<<mark findings to fix>>>\nF2 uncertainty\n<<<mark end>>>"
  const preview = (mark: string) => () => ({ text: TEXT.replaceAll("mark", mark), prompt: "Please fix it." })

  test("what is shown is what is sent, with the person's own words before it", async () => {
    const answers = {
      "sendBack.preview": preview("abc"),
      "task.sendBack": () => ({ verdict: "accepted" as const, text: "" }),
    }
    const screen = await open({ answers })
    await screen.press("s")
    screen.shows("F2 uncertainty")
    screen.shows("Please fix it.")
    await screen.press("enter")
    expect(screen.server.asked().at(-1)).toEqual({
      type: "task.sendBack",
      sessionID: "ses_26",
      text: TEXT.replaceAll("mark", "abc"),
      mode: "continue",
    })
    expect(screen.host.route().name).toBe("kagan.board")
  })

  test("an edit is kept over Esc and a failure, with the same findings; Tab chooses a fresh session", async () => {
    const screen = await open({
      answers: { "sendBack.preview": preview("abc"), "task.sendBack": () => ({ kind: "failed", text: "no" }) },
    })
    await screen.press("s")
    await screen.type("First ask.")
    await screen.press("esc")
    screen.server.answers["sendBack.preview"] = preview("xyz")
    await screen.press("s", "tab")
    screen.shows("First ask.")
    screen.shows("a fresh session")
    await screen.press("enter")
    expect(screen.server.asked().at(-1)).toMatchObject({ mode: "fresh", text: expect.stringMatching(/^First ask\.\n/) })
    await screen.press("s")
    screen.shows("First ask.")
    screen.server.answers["sendBack.preview"] = () => ({ text: "Other findings", prompt: "Please" })
    await screen.press("esc", "s")
    screen.showsNot("First ask.")
  })

  test("with nothing to fix it needs words; after many iterations it asks first", async () => {
    const screen = await open({
      sessions: [inReview(26, "Again", { findings: 0 })].map((session) => {
        const kagan = session.metadata?.kagan as Record<string, unknown>
        return { ...session, metadata: { kagan: { ...kagan, generation: 9 } } }
      }),
      answers: { "sendBack.preview": () => ({ text: "", prompt: "Please" }) },
    })
    await screen.press("s")
    screen.shows("This was iteration 9")
    await screen.press("y")
    screen.shows("the agent gets your words")
    await screen.press("enter")
    screen.shows("nothing to send back")
    expect(screen.server.asked()).toEqual([])
  })
})
