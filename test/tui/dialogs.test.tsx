import { afterEach, describe, expect, test } from "vitest"
import { createSignal } from "solid-js"
import type { DraftReply } from "../../src/core/protocol.ts"
import { refusalText } from "../../src/core/rules.ts"
import { facts, finding, inReview, intakeOf, task, validatorOf, workingDay } from "./cards.ts"
import { openStage, START, TIP, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())
const open = async (options: StageOptions) => (stage = await openStage(options))

const SIZES = [
  [160, 45],
  [80, 24],
  [40, 12],
] as const
const SNAPSHOT = "7be21c0".padEnd(40, "0")
const created = () => ({ sessionID: "ses_9", taskNumber: 9, text: "#9 created" })

describe("new task", () => {
  test.each(SIZES)("%i×%i", async (width, height) => {
    await open({ width, height, ...workingDay() })
    await stage.press("n")
    await stage.type("Rate-limit the login route")
    await stage.press("tab")
    await stage.type("Five tries per minute.")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/new-${width}x${height}.txt`)
  })

  test("Enter creates what was typed, once, and the cursor waits for the card", async () => {
    await open({ answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("A title")
    await stage.press("tab")
    await stage.type("Line one")
    await stage.press("shift+enter")
    await stage.type("line two")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([
      { type: "task.create", title: "A title", description: "Line one\nline two" },
    ])
    expect(stage.host.dialogs()).toBe(0)
    stage.app.board.take(task(9, "A title"))
    await stage.settle()
    expect(stage.app.selection.card()).toBe("ses_9")
    stage.shows("#9 created")
  })

  test("ctrl+enter creates and starts, with a reason to go without intake", async () => {
    await open({ width: 160, height: 45, answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("A title")
    await stage.press("ctrl+enter")
    stage.shows("Start without intake: why?")
    expect(stage.server.asked()).toEqual([])
    await stage.type("hotfix agreed on the phone")
    stage.shows("your own reason")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ title: "A title", start: { waiver: "hotfix agreed on the phone" } }])
  })

  test("letters that are board keys go into the field, and nothing happens behind (C073)", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    const before = stage.app.selection.card()
    await stage.press("n")
    await stage.type("delete me q j d m")
    stage.shows("delete me q j d m")
    expect(stage.app.selection.card()).toBe(before)
    expect(stage.server.asked()).toEqual([])
    expect(stage.host.route().name).toBe("kagan.board")
  })

  test("Esc keeps what was typed, also over a restart; a second Esc closes nothing else (C073)", async () => {
    const kv = {}
    await open({ kv, ...workingDay() })
    await stage.press("n")
    await stage.type("Half a thought")
    await stage.press("tab")
    await stage.type("and its reason")
    await stage.press("esc", "esc")
    expect(stage.host.route().name).toBe("kagan.board")
    stage.close()
    await open({ kv, ...workingDay() })
    await stage.press("n")
    stage.shows("Half a thought")
    stage.shows("and its reason")
  })

  test("a paste never submits, whatever it holds", async () => {
    await open({ answers: { "task.create": created } })
    await stage.press("n")
    await stage.paste("Pasted\nover\r\nlines\n")
    await stage.press("tab")
    await stage.paste("More\nlines\n")
    expect(stage.host.dialogs()).toBe(1)
    expect(stage.server.asked()).toEqual([])
  })

  test("a title without a visible character is not sent, and says so in its place", async () => {
    await open({ answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("  ...  ")
    await stage.press("enter")
    stage.shows("a title needs at least one letter")
    expect(stage.server.asked()).toEqual([])
  })

  test("a failure is told, and n has what was typed; the same draft is sent again under its id", async () => {
    let tries = 0
    const create = () => (tries++ === 0 ? { kind: "failed" as const, text: "git: the disk is full" } : created())
    await open({ width: 160, height: 45, answers: { "task.create": create } })
    await stage.press("n")
    await stage.type("A title")
    await stage.press("enter")
    stage.shows("not created: git: the disk is full")
    await stage.press("n")
    stage.shows("A title")
    await stage.press("enter")
    const [first, second] = stage.server.asked()
    expect(second).toEqual(first)
    await stage.press("n")
    stage.showsNot("A title")
  })

  test("what was created before with other words is named; what is typed now is a task of its own when it is sent again", async () => {
    const refusal = { kind: "made_already" as const, taskNumber: 7 }
    let tries = 0
    const create = () => (tries++ === 0 ? { kind: "refused" as const, refusal, text: refusalText(refusal) } : created())
    await open({ width: 160, height: 45, answers: { "task.create": create } })
    await stage.press("n")
    await stage.type("Other words")
    await stage.press("enter")
    stage.shows("#7 was created when this was")
    await stage.press("n")
    stage.shows("Other words")
    await stage.press("enter")
    const [first, second] = stage.server.asked()
    expect(second).toMatchObject({ type: "task.create", title: "Other words" })
    expect(second!.draftID).not.toBe(first!.draftID)
    await stage.press("n")
    stage.showsNot("Other words")
  })

  test("what is being created stands on the board for as long as it takes, and its card gives way to the task", async () => {
    const answer = Promise.withResolvers<ReturnType<typeof created>>()
    await open({ answers: { "task.create": () => answer.promise } })
    await stage.press("n")
    await stage.type("A title")
    await stage.press("enter")
    await stage.clock.advance(60_000)
    await stage.settle()
    expect(stage.app.notices.shown()).toEqual([])
    stage.shows(/Backlog +1/)
    stage.shows(/A title[^]*◔ creating/)
    stage.app.board.take(task(9, "A title"))
    await stage.settle()
    stage.showsNot("◔ creating")
    stage.shows(/Backlog +1/)
    answer.resolve(created())
    await stage.settle()
    stage.shows(/Backlog +1/)
    expect(stage.app.selection.card()).toBe("ses_9")
  })

  test("a task that is typed before the host knows its directory waits on the board, and is created then", async () => {
    const kv = {}
    const [directory, setDirectory] = createSignal("")
    const read = { sessions: () => new Promise<never>(() => {}) }
    await open({ kv, directory, read, answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("First")
    await stage.press("enter", "n")
    await stage.type("Half a thought")
    await stage.press("esc")
    await stage.clock.advance(120_000)
    await stage.settle()
    stage.shows("◔ waiting to be created: First")
    expect(stage.server.asked()).toEqual([])
    setDirectory("/home/ann/shop-api")
    await stage.settle()
    expect(stage.server.asked()).toMatchObject([{ type: "task.create", title: "First" }])
    stage.shows("#9 created")
    stage.showsNot("waiting to be created")
    await stage.press("n")
    stage.shows("Half a thought")
    stage.showsNot("First")
  })

  test("what could not be created is not lost to what was typed meanwhile, nor that to a draft", async () => {
    const answer = Promise.withResolvers<{ kind: "failed"; text: string }>()
    let refused = false
    const answers = { "task.create": () => (refused ? created() : ((refused = true), answer.promise)) }
    await open({ answers })
    await stage.press("n")
    await stage.type("First")
    await stage.press("enter", "n")
    await stage.type("Second")
    await stage.press("esc")
    answer.resolve({ kind: "failed", text: "the disk is full" })
    await stage.settle()
    await stage.press("n")
    stage.shows("Second")
    await stage.press("enter", "n")
    stage.shows(/Title\s+First/)
  })

  test("while one is being created, n begins another; what a crash cut off is offered again", async () => {
    const kv = {}
    const never = () => new Promise<never>(() => {})
    await open({ kv, answers: { "task.create": never } })
    await stage.press("n")
    await stage.type("First")
    await stage.press("enter", "n")
    stage.showsNot(/Title\s+First/)
    await stage.type("Second")
    await stage.press("enter")
    const [first, second] = stage.server.asked()
    expect([first?.title, second?.title]).toEqual(["First", "Second"])
    expect(first?.draftID).not.toBe(second?.draftID)
    stage.close()
    await open({ kv, answers: { "task.create": created } })
    await stage.press("n")
    stage.shows(/Title\s+First/)
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ title: "First", draftID: first?.draftID }])
  })

  test("agent, dependencies and scope are chosen and typed, and live through Esc", async () => {
    const kv = {}
    const agents = [{ name: "build" }, { name: "plan", description: "thinks first" }]
    const answers = { "task.create": created }
    await open({ kv, width: 160, height: 45, agents, answers, sessions: [task(7, "Seventh")] })
    await stage.press("n")
    await stage.type("T1")
    await stage.press("tab", "tab", "tab", "tab", "space")
    stage.shows("plan  thinks first")
    await stage.type("thinks")
    await stage.press("enter", "tab", "space", "enter", "esc", "tab")
    await stage.type("services/auth")
    await stage.press("esc", "n")
    stage.shows("#7")
    stage.shows("services/auth")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ title: "T1", agent: "plan", dependsOn: [7], scope: "services/auth" }])
  })

  test("a template begins a task, behind what was typed already; an unusable one says why", async () => {
    const templates = [
      { name: "bug", title: "Fix: ", description: "Steps:\nExpected:" },
      { name: "huge", title: "", description: "", problem: "is longer than 64 KiB" },
    ]
    const answers = { "template.list": () => ({ folder: "/r/.kagan/templates", templates }) }
    await open({ width: 160, height: 45, answers })
    await stage.press("n", "tab")
    await stage.type("Seen today.")
    await stage.press("ctrl+t")
    stage.shows("huge  is longer than 64 KiB")
    await stage.press("enter")
    stage.shows(/Title\s+Fix:/)
    stage.shows("Seen today.")
    stage.shows("Expected:")
  })

  test("an editor that cannot be had is said in the dialog, and nothing typed is lost", async () => {
    const answers = {
      "text.open": () => ({ id: "t-1", folder: "/tmp/x", path: "/tmp/x/task.md" }),
      "text.close": () => ({ text: "A title" }),
    }
    await open({ width: 160, height: 45, answers })
    await stage.press("n")
    await stage.type("A title")
    await stage.press("ctrl+o")
    stage.shows("$EDITOR")
    stage.shows(/Title\s+A title/)
    expect(stage.server.asked()).toEqual([
      { type: "text.open", text: "A title\n" },
      { type: "text.close", id: "t-1" },
    ])
  })

  test("where there is little room every field is reached all the same, and keeps what was typed", async () => {
    await open({ width: 40, height: 12, answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("T1")
    stage.showsNot("Scope")
    await stage.press("tab", "tab", "tab", "tab", "tab", "tab")
    await stage.type("src")
    stage.shows(/Scope\s+src/)
    await stage.press("tab", "tab")
    await stage.type("why")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ title: "T1", description: "why", scope: "src" }])
  })

  test("without templates the list says where they would be", async () => {
    const answers = { "template.list": () => ({ folder: "/r/.kagan/templates", templates: [] }) }
    await open({ width: 160, height: 45, answers })
    await stage.press("n", "ctrl+t")
    stage.shows("there is no template: put *.md files into /r/.kagan/templates")
    await stage.press("esc")
    stage.shows("New task")
  })

  test("its keys are the person's own as well", async () => {
    await open({ keybinds: { "kagan.form.send": "ctrl+l" }, answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("T1")
    await stage.press("enter")
    expect(stage.host.dialogs()).toBe(1)
    await stage.press("ctrl+l")
    expect(stage.server.asked()).toMatchObject([{ title: "T1" }])
  })

  test("base and model are chosen from lists, and uncommitted changes are named", async () => {
    const bases = { branches: ["main", "next"], proposed: "main", dirty: ["a"], dirtyCount: 3 }
    const models = [{ providerID: "anthropic", modelID: "opus", name: "Opus", provider: "Anthropic" }]
    await open({ answers: { "task.create": created, "base.list": () => bases }, models })
    await stage.press("n")
    stage.shows("main  (3 uncommitted files stay out)")
    await stage.type("T1")
    await stage.press("tab", "tab", "space")
    await stage.type("ne")
    await stage.press("enter", "tab", "space", "down", "enter", "enter")
    expect(stage.server.asked()).toMatchObject([
      { baseBranch: "next", model: { providerID: "anthropic", modelID: "opus" } },
    ])
  })

  test("a draft that did not become a task stands in Backlog and is taken up again", async () => {
    const drafts: DraftReply[] = [draft("Came to nothing", "", "no branch is free")]
    await open({
      width: 160,
      height: 45,
      answers: { "task.create": created, "board.facts": () => ({ facts: [], drafts }) },
    })
    stage.shows("draft Came to nothing")
    stage.shows("✗ no branch is free")
    await stage.press("enter")
    stage.shows("New task")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ draftID: "d-1", title: "Came to nothing" }])
  })

  test("r tries a draft again as it is, d discards it", async () => {
    const drafts: DraftReply[] = [draft("Came to nothing", "x", "no branch")]
    const answers = {
      "draft.retry": () => ({ tasks: [{ sessionID: "ses_9", taskNumber: 9 }], text: "#9 created" }),
      "draft.discard": () => ({ text: "discarded" }),
      "board.facts": () => ({ facts: [], drafts }),
    }
    await open({ width: 160, height: 45, answers })
    await stage.press("r", "d")
    expect(stage.server.asked()).toEqual([
      { type: "draft.retry", draftID: "d-1" },
      { type: "draft.discard", draftID: "d-1" },
    ])
  })

  test("a draft of several tasks is one card: r tries them all again, and it is not edited as one task", async () => {
    const tasks = ["First", "Second"].map((title) => ({ title, description: "" }))
    const drafts: DraftReply[] = [
      { id: "d-2", title: "2 tasks: First · Second", description: "", tasks, problem: '"Second": no such branch' },
    ]
    const answers = {
      "draft.retry": () => ({ tasks: [{ sessionID: "ses_9", taskNumber: 9 }], text: "#9, #10 created" }),
      "board.facts": () => ({ facts: [], drafts }),
    }
    await open({ width: 160, height: 45, answers })
    stage.shows("draft 2 tasks: First · Second")
    await stage.press("e")
    stage.shows("several tasks: r creates all")
    await stage.press("r")
    expect(stage.server.asked()).toEqual([{ type: "draft.retry", draftID: "d-2" }])
    stage.shows("#9, #10 created")
  })

  test("it survives resizes, with the text and the focus (C068)", async () => {
    await open({ width: 120, height: 40, answers: { "task.create": created } })
    await stage.press("n")
    await stage.type("Stays")
    for (let i = 0; i < 10; i++) await stage.resize(i % 2 ? 120 : 41, i % 2 ? 40 : 13)
    await stage.type(" here")
    stage.shows("Stays here")
    await stage.press("enter")
    expect(stage.server.asked()).toHaveLength(1)
  })
})

describe("intake", () => {
  test.each(SIZES)("%i×%i", async (width, height) => {
    await open({ width, height, ...workingDay() })
    await stage.press("i")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/intake-${width}x${height}.txt`)
  })

  test("Enter approves one after the other, o overrides with the person's words", async () => {
    await open({ width: 160, height: 45, ...workingDay(), answers: { "intake.answer": () => ({ text: "" }) } })
    await stage.press("i", "enter")
    stage.shows("Should the limit be configurable?")
    await stage.press("o")
    await stage.type("yes, per route")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([
      { type: "intake.answer", sessionID: "ses_31", answers: [{ decision: 0, kind: "approved" }] },
      {
        type: "intake.answer",
        sessionID: "ses_31",
        answers: [{ decision: 1, kind: "overridden", text: "yes, per route" }],
      },
    ])
    expect(stage.host.dialogs()).toBe(0)
  })

  test("w waives it only with a reason that says something", async () => {
    await open({ width: 160, height: 45, ...workingDay(), answers: { "intake.waive": () => ({ text: "waived" }) } })
    await stage.press("w")
    stage.shows("#31 without intake: why?")
    await stage.press("o")
    await stage.type("ok")
    await stage.press("enter")
    stage.shows("a reason says why")
    await stage.type(" for a spike we throw away")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ type: "intake.waive", reason: "ok for a spike we throw away" }])
  })

  test("before it has reported, i says so", async () => {
    const running = { state: "running", generation: 1, attempt: 1, required: 0, answered: 0, at: START } as const
    await open({ width: 160, height: 45, sessions: [task(1, "Young", { intake: running })] })
    await stage.press("i")
    stage.shows("intake has not reported yet")
  })
})

describe("moves", () => {
  test("m asks the server half, shows pending meanwhile, and its words after", async () => {
    const reply = Promise.withResolvers<{ verdict: "accepted"; text: string }>()
    await open({ width: 160, height: 45, sessions: [task(1, "Goes")], answers: { "task.move": () => reply.promise } })
    await stage.press("m")
    stage.shows("◔ to In Progress")
    reply.resolve({ verdict: "accepted", text: "#1 started" })
    await stage.settle()
    stage.showsNot("◔ to In Progress")
    stage.shows("✓ #1 started")
    expect(stage.server.asked()).toEqual([{ type: "task.move", sessionID: "ses_1", to: "in_progress" }])
  })

  test("what the rules refuse is refused at once, in the same words, without a request", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    await stage.press("m")
    stage.shows(/2 required decisions are\s+│?.*open/)
    expect(stage.server.asked()).toEqual([])
  })

  test("a denial of the server half stands as a notice and the card stays", async () => {
    const refused = {
      kind: "refused" as const,
      refusal: { kind: "worktree_not_ready" } as never,
      text: "its worktree is not ready",
    }
    await open({ width: 160, height: 45, sessions: [task(1, "Stays")], answers: { "task.move": () => refused } })
    await stage.press("m")
    stage.shows("⚠ #1 its worktree is not ready")
    expect(stage.app.selection.column()).toBe("backlog")
  })

  test("u takes a move back", async () => {
    const moved = { verdict: "accepted" as const, text: "moved" }
    await open({
      width: 160,
      height: 45,
      sessions: [task(1, "Works", { lastGatedStatus: "in_progress" })],
      answers: { "task.move": () => moved },
    })
    await stage.press("b")
    stage.app.board.take(task(1, "Works"))
    await stage.press("u")
    expect(stage.server.asked()).toMatchObject([{ to: "backlog" }, { to: "in_progress" }])
  })

  test("b takes back a wish that waits", async () => {
    const moved = { verdict: "accepted" as const, text: "" }
    await open({ width: 160, height: 45, ...workingDay(), answers: { "task.move": () => moved } })
    await stage.press("j", "j", "b")
    expect(stage.server.asked()).toEqual([{ type: "task.move", sessionID: "ses_33", to: "backlog" }])
  })

  test("m on a running card asks first, and stopping it is not the default", async () => {
    const day = workingDay()
    await open({ width: 160, height: 45, ...day, answers: { "task.move": () => ({ verdict: "accepted", text: "" }) } })
    await stage.press("2", "m")
    stage.shows("Review #28 as it is?")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([])
    await stage.press("m", "y")
    expect(stage.server.asked()).toEqual([{ type: "task.move", sessionID: "ses_28", to: "review", asIs: true }])
  })

  test("a card is dragged to another column, through the same gate", async () => {
    const moved = { verdict: "accepted" as const, text: "" }
    await open({
      width: 160,
      height: 45,
      sessions: [task(1, "Goes"), task(2, "Stays", { lastGatedStatus: "done" })],
      answers: { "task.move": () => moved },
    })
    await stage.mouse.drag(5, 2, 60, 10)
    await stage.settle()
    expect(stage.server.asked()).toEqual([{ type: "task.move", sessionID: "ses_1", to: "in_progress" }])
    await stage.mouse.drag(125, 2, 5, 10)
    await stage.settle()
    stage.shows(/a card cannot go from Done/)
    expect(stage.server.asked()).toHaveLength(1)
    expect(stage.host.dialogs()).toBe(0)
  })

  test("Enter on an empty board offers what can be done there, a new task first", async () => {
    await open({ sessions: [] })
    await stage.press("enter")
    stage.shows("The board")
    stage.shows(/▌New task +n/)
    stage.showsNot("no card is selected")
    await stage.press("enter")
    stage.shows("What should be different afterwards")
  })

  test("a click selects, a second click opens the actions, and the mouse can be switched off", async () => {
    await open({ width: 160, height: 45, sessions: [task(1, "One"), task(2, "Two")] })
    await stage.click(5, 6)
    stage.shows("▌#2 Two")
    await stage.click(5, 6)
    stage.shows("Type to narrow the actions")
    stage.close()
    await open({ width: 160, height: 45, sessions: [task(1, "One"), task(2, "Two")], options: { mouse: false } })
    await stage.click(5, 6)
    stage.shows("▌#1 One")
  })

  test("J moves it between its neighbours", async () => {
    const sessions = [task(1, "One"), task(2, "Two"), task(3, "Three")]
    await open({ width: 160, height: 45, sessions, answers: { "task.reorder": () => ({ text: "" }) } })
    await stage.press("J")
    expect(stage.server.asked()).toEqual([{ type: "task.reorder", sessionID: "ses_1", order: 2.5 }])
    await stage.press("K")
    stage.shows("it stands at the top")
  })
})

describe("asks", () => {
  const asking = (ask: object) => ({
    width: 160,
    height: 45,
    sessions: [task(1, "Asks", { lastGatedStatus: "in_progress" as const })],
    facts: [facts(1, { activity: { kind: "blocked", text: "" }, asks: [ask as never] })],
  })
  const permission = {
    kind: "permission",
    id: "per_1",
    sessionID: "ses_grandchild",
    directory: "/wt/1",
    permission: "bash",
    patterns: ["npm i"],
    text: "run npm i",
  }
  const question = {
    kind: "question",
    id: "que_1",
    sessionID: "ses_1",
    directory: "/wt/1",
    questions: [{ question: "Which port?", options: ["80", "8080"], multiple: false, custom: true }],
  }
  const done = () => ({ text: "answered" })

  test("y allows once, in the asking session's directory", async () => {
    await open({ ...asking(permission), answers: { "ask.permission": done } })
    await stage.press("2", "y")
    expect(stage.server.asked()).toEqual([
      { type: "ask.permission", sessionID: "ses_1", ask: { id: "per_1", directory: "/wt/1" }, reply: "once" },
    ])
  })

  test("what the card has no room for is read whole before y allows it", async () => {
    const text = `run ${Array.from({ length: 200 }, (_, n) => `rm -rf part-${n}`).join(" && ")}`
    await open({ ...asking({ ...permission, text }), width: 80, height: 24, answers: { "ask.permission": done } })
    await stage.press("2", "y")
    expect(stage.server.asked()).toEqual([])
    stage.shows("#1 asks")
    stage.shows("rm -rf part-0 ")
    // It is longer than the dialog: its end first.
    await stage.press("y")
    expect(stage.server.asked()).toEqual([])
    stage.shows("PgDn shows the rest of it first")
    stage.showsNot("part-199")
    while (!stage.frame().includes("part-199")) await stage.press("pagedown")
    await stage.press("y")
    expect(stage.server.asked()).toMatchObject([{ type: "ask.permission", reply: "once" }])
  })

  test("what a card cannot show as it is is read in the dialog too", async () => {
    await open({ ...asking({ ...permission, text: "run ls\u202e\nrm -rf /" }), answers: { "ask.permission": done } })
    await stage.press("2", "y")
    expect(stage.server.asked()).toEqual([])
    stage.shows("rm -rf /")
    await stage.press("y")
    expect(stage.server.asked()).toMatchObject([{ reply: "once" }])
  })

  test("x rejects with a word for the agent", async () => {
    await open({ ...asking(permission), answers: { "ask.permission": done } })
    await stage.press("2", "x")
    stage.shows("run npm i")
    await stage.type("use pnpm")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ reply: "reject", message: "use pnpm" }])
  })

  test("a question is answered by its option or in own words", async () => {
    await open({ ...asking(question), answers: { "ask.question": done } })
    await stage.press("2", "y")
    stage.shows("Which port?")
    await stage.press("2")
    await stage.press("y", "w")
    await stage.type("443")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ answers: [["8080"]] }, { answers: [["443"]] }])
  })

  test("dismissing a question says that it ends the turn, and the safe choice comes first", async () => {
    await open({ ...asking(question), answers: { "ask.question": done } })
    await stage.press("2", "x")
    stage.shows("ends the agent's turn")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([])
    await stage.press("x", "y")
    expect(stage.server.asked()).toEqual([
      { type: "ask.question", sessionID: "ses_1", ask: { id: "que_1", directory: "/wt/1" } },
    ])
  })
})

describe("the action menu", () => {
  test("says what can be done, with its key, and what cannot, with the reason", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    await stage.press("enter")
    stage.shows(/▌Answer the intake's questions\s+i/)
    stage.shows(/Approve and merge\s+that is done in Review/)
    await stage.type("tell")
    await stage.press("enter")
    stage.shows("Tell the agent of #31")
  })

  test.each(SIZES)("%i×%i", async (width, height) => {
    await open({ width, height, ...workingDay() })
    await stage.press("enter")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/menu-${width}x${height}.txt`)
  })
})

describe("help, filter and past notices", () => {
  test.each(SIZES)("help %i×%i", async (width, height) => {
    await open({ width, height })
    await stage.press("?")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/help-${width}x${height}.txt`)
  })

  test("the filter narrows while it is typed, Esc brings back what was, Enter keeps it", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    await stage.press("/")
    await stage.type("is:needs-you")
    stage.showsNot("#28 Split")
    await stage.press("esc")
    stage.shows("#28 Split")
    await stage.press("/")
    await stage.type("#29")
    await stage.press("enter")
    stage.showsNot("#28 Split")
    stage.shows("/#29")
    await stage.press("esc")
    stage.shows("#28 Split")
  })

  test("an unknown filter is named", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    await stage.press("/")
    await stage.type("is:fun")
    await stage.press("enter")
    stage.shows("there is no filter is:fun")
  })

  test("archived cards are found by filter", async () => {
    await open({ width: 160, height: 45, sessions: [task(1, "Put away", { archivedAt: START }), task(2, "Here")] })
    stage.showsNot("Put away")
    await stage.press("/")
    await stage.type("is:archived")
    await stage.press("enter")
    stage.shows("Put away")
    stage.showsNot("#2 Here")
  })

  test("N lists what was said, newest first", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    stage.push({ type: "notice", level: "info", text: "first", taskNumber: 28 })
    stage.push({ type: "notice", level: "error", text: "second" })
    await stage.press("N")
    const screen = stage.frame()
    expect(screen.indexOf("second")).toBeLessThan(screen.indexOf("#28 first"))
  })
})

describe("approve and send back", () => {
  const ruled = (fix: number) => [
    inReview(1, "Done well", { findings: 1, ruled: 1, fix }),
    validatorOf(
      1,
      [finding("F1", { title: "Name it better" })],
      [{ finding: "F1", disposition: fix ? "fix" : "intended", snapshot: "7be21c0", at: START }],
    ),
  ]

  test("a merges exactly the snapshot on the screen", async () => {
    const merged = { commit: "abc1234", target: "main", text: "merged into main as abc1234" }
    await open({ width: 160, height: 45, sessions: ruled(0), answers: { "task.approve": () => merged } })
    await stage.press("3", "a")
    stage.shows("7be21c0 (2 files, +86 −12) into main")
    await stage.press("tab")
    stage.shows("merge commit")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([
      {
        type: "task.approve",
        sessionID: "ses_1",
        snapshot: SNAPSHOT,
        target: "main",
        expected: TIP,
        strategy: "merge",
      },
    ])
    stage.shows("merged into main as abc1234")
  })

  test("C047 a target that moved on since the review is said, and its commit is what the approval expects", async () => {
    const seen = { snapshot: SNAPSHOT, target: "main", branches: ["main"], tip: TIP, behind: 2, conflicts: ["a.ts"] }
    await open({ width: 80, height: 24, sessions: ruled(0), answers: { "merge.preview": () => seen } })
    await stage.press("3", "a")
    stage.shows("main moved on by 2 commits that the review did not see")
    stage.shows("conflicts in 1 file")
    stage.shows("a.ts")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ type: "task.approve", expected: TIP }])
  })

  test("Enter before the answer waits for it, and merges only when there is no news", async () => {
    const seen = { snapshot: SNAPSHOT, target: "main", branches: ["main"], tip: TIP, behind: 1, conflicts: [] }
    const answered = Promise.withResolvers<object>()
    const later = () => answered.promise as never
    await open({ width: 160, height: 45, sessions: ruled(0), answers: { "merge.preview": later } })
    await stage.press("3", "a", "enter")
    expect(stage.server.asked()).toEqual([])
    answered.resolve(seen)
    await stage.settle()
    stage.shows("main moved on by 1 commit")
    expect(stage.server.asked()).toEqual([])
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ type: "task.approve" }])
  })

  test("a remote base without a local branch: the person chooses where it goes", async () => {
    const preview = ({ target }: { target?: string }) => ({
      snapshot: SNAPSHOT,
      ...(target ? { target } : {}),
      branches: ["develop", "main"],
      tip: TIP,
      behind: 0,
      conflicts: [],
    })
    await open({ width: 160, height: 45, sessions: ruled(0), answers: { "merge.preview": preview } })
    await stage.press("3", "a")
    stage.shows("Merge #1 into which branch?")
    await stage.press("down", "enter")
    stage.shows("into main")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ type: "task.approve", target: "main", expected: TIP }])
  })

  test("and also where the base is gone", async () => {
    const preview = ({ target }: { target?: string }) => ({
      snapshot: "s".repeat(40),
      ...(target ? { target } : { gone: "there is no branch next" }),
      branches: ["develop", "main"],
      tip: TIP,
      behind: 0,
      conflicts: [],
    })
    await open({ width: 80, height: 24, sessions: ruled(0), answers: { "merge.preview": preview } })
    await stage.press("3", "a")
    stage.shows("Merge #1 into which branch?")
    stage.shows("there is no branch next")
    await stage.press("down", "enter")
    stage.shows("into main")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ type: "task.approve", target: "main", expected: TIP }])
  })

  test("U says what it will do and asks, and a card without a place for it says why", async () => {
    const answers = { "task.update": () => ({ text: "main is in its branch now; it is reviewed again" }) }
    await open({ width: 160, height: 45, sessions: [...ruled(0), task(2, "Young")], answers })
    await stage.press("3", "U")
    stage.shows("Bring main into the branch of #1?")
    await stage.press("y")
    expect(stage.server.asked()).toEqual([{ type: "task.update", sessionID: "ses_1" }])
    stage.shows("main is in its branch now")
    await stage.press("1", "U")
    stage.shows("that is done in In Progress")
  })

  test("U where the base is gone asks for another one, which then is the base", async () => {
    const gone = { kind: "base_gone" as const, base: "main" }
    const answers = {
      "task.update": ({ base }: { base?: string }) =>
        base === undefined
          ? { kind: "refused" as const, refusal: gone, text: refusalText(gone) }
          : { text: `${base} is in its branch now; it is reviewed again` },
      "base.list": () => ({ branches: ["develop", "release"], proposed: "develop", dirty: [], dirtyCount: 0 }),
    }
    await open({ width: 80, height: 24, sessions: ruled(0), answers })
    await stage.press("3", "U", "y")
    stage.shows("Another base for #1?")
    stage.shows("There is no branch main any more")
    await stage.press("down", "enter")
    expect(stage.server.asked().filter(({ type }) => type === "task.update")).toEqual([
      { type: "task.update", sessionID: "ses_1" },
      { type: "task.update", sessionID: "ses_1", base: "release" },
    ])
    stage.shows("release is in its branch now")
    stage.showsNot("Another base for #1?")
  })

  test("D deletes for good only from the trash, and names what is lost first", async () => {
    const lost = "uncommitted a.ts; 2 commits of the branch"
    const answers = { "purge.preview": () => ({ lost }), "task.purge": () => ({ text: "#1 is deleted" }) }
    const sessions = [task(1, "Thrown away", { trashedAt: START }), task(2, "Kept")]
    await open({ width: 160, height: 45, sessions, answers })
    await stage.press("D")
    stage.shows("only what is in the trash is deleted")
    await stage.press("/")
    await stage.type("is:trashed")
    await stage.press("enter", "1", "D")
    stage.shows("Lost for good: uncommitted")
    stage.shows("2 commits of the branch")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([])
    await stage.press("D", "y")
    expect(stage.server.asked()).toEqual([{ type: "task.purge", sessionID: "ses_1", lost }])
  })

  test("what stands in the way is said in one line", async () => {
    await open({ width: 160, height: 45, sessions: ruled(1) })
    await stage.press("3", "a")
    stage.shows(/1 finding is ruled "fix": send it back/)
  })

  test("s shows what the agent gets, and own words go along", async () => {
    await open({
      width: 160,
      height: 45,
      sessions: ruled(1),
      answers: {
        "sendBack.preview": () => ({ text: "Fix F1 Name it better", prompt: "Please" }),
        "task.sendBack": () => ({ verdict: "accepted" as const, text: "sent back" }),
      },
    })
    await stage.press("3", "s")
    stage.shows("F1 Name it better")
    await stage.type("and the docs")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([
      { type: "task.sendBack", sessionID: "ses_1", text: "and the docs\n\nFix F1 Name it better", mode: "continue" },
    ])
  })

  test("nothing to fix and no words are refused in the dialog", async () => {
    const answers = { "sendBack.preview": () => ({ text: "", prompt: "Please" }) }
    await open({ width: 160, height: 45, sessions: ruled(0), answers })
    await stage.press("3", "s", "enter")
    stage.shows('no finding is ruled "fix"')
    expect(stage.server.asked()).toEqual([])
  })
})

describe("editing a task", () => {
  const saved = { "task.edit": () => ({ text: "saved" }) }
  const sessions = [
    task(1, "Old title", { description: "Old words", dependsOn: [2], scope: "services" }),
    task(2, "Another"),
    task(3, "A third"),
    task(4, "Done with", { lastGatedStatus: "done" }),
    intakeOf(1, {}),
  ]

  test("sends only what was changed, and u takes it back", async () => {
    await open({ width: 160, height: 45, sessions, answers: saved })
    await stage.press("e")
    stage.showsNot("Base")
    await stage.press("tab")
    await stage.type(", longer")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([{ type: "task.edit", sessionID: "ses_1", description: "Old words, longer" }])
    await stage.press("u")
    expect(stage.server.asked().at(-1)).toEqual({ type: "task.edit", sessionID: "ses_1", description: "Old words" })
  })

  test("what it waits for is taken and left in a list of the other open tasks", async () => {
    await open({ width: 160, height: 45, sessions, answers: saved })
    await stage.press("e", "tab", "tab", "tab", "tab", "space")
    stage.shows("Waits for")
    stage.shows("✓ #2 Another")
    stage.shows("#3 A third")
    await stage.press("enter", "down", "enter", "esc")
    await stage.press("tab")
    await stage.type("/auth")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([
      { type: "task.edit", sessionID: "ses_1", dependsOn: [3], scope: "services/auth" },
    ])
  })

  test("nothing changed sends nothing, also where the field cannot show what is stored", async () => {
    const hidden = [task(1, "Old \u202etitle", { description: "Old\u200b words" })]
    await open({ width: 160, height: 45, sessions: hidden, answers: saved })
    await stage.press("e", "enter")
    expect(stage.server.asked()).toEqual([])
    expect(stage.host.dialogs()).toBe(0)
  })

  test("a long description is edited whole, from its file", async () => {
    const long = [task(1, "Long", { description: "begin", descriptionFile: true })]
    const whole = { "task.description": () => ({ description: "begin and end" }) }
    await open({ width: 160, height: 45, sessions: long, answers: { ...saved, ...whole } })
    await stage.press("e", "tab")
    await stage.type(".")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([{ type: "task.edit", sessionID: "ses_1", description: "begin and end." }])
  })
})

function draft(title: string, description: string, problem: string): DraftReply {
  return { id: "d-1", title, description, tasks: [{ title, description }], problem }
}
