import { describe, expect, test } from "vitest"
import { DEFAULT_OPTIONS } from "../../src/core/options.ts"
import { channelName, LOBBY, type Push, type Wire } from "../../src/core/protocol.ts"
import { linkProblem, makeLink, type LinkState } from "../../src/tui/channel.ts"
import { manualClock, settle } from "../kit/clock.ts"

const HELLO = { repo: "r1", root: "/r", version: "1", options: DEFAULT_OPTIONS, problems: [] }

function wired() {
  const clock = manualClock()
  const sent: { name: string; wire: Wire }[] = []
  const receivers = new Map<string, (data: unknown) => void>()
  const states: LinkState[] = []
  const pushes: Push[] = []
  let ids = 0
  const link = makeLink({
    version: "1",
    time: clock,
    newID: () => `id${++ids}`,
    onState: (state) => states.push(state),
    onPush: (push) => pushes.push(push),
    openPort(name, receive) {
      receivers.set(name, receive)
      return { post: (wire) => sent.push({ name, wire }), close: () => receivers.delete(name) }
    },
  })
  const requests = (type: string) =>
    sent.flatMap(({ wire }) => (wire.kagan === "request" && wire.type === type ? [wire] : []))
  return {
    clock,
    link,
    sent,
    states,
    pushes,
    requests,
    receivers,
    say: (name: string, wire: Wire) => receivers.get(name)?.(wire),
    up() {
      link.connect("/r")
      receivers.get(LOBBY)?.({ kagan: "reply", id: requests("hello").at(-1)!.id, ok: true, value: HELLO })
    },
  }
}

describe("hello", () => {
  test("is said again until it is answered, always under one id", async () => {
    const { clock, link, requests, states, say } = wired()
    link.connect("/r")
    await clock.advance(2_500)
    const hellos = requests("hello")
    expect(hellos.length).toBeGreaterThan(2)
    expect(new Set(hellos.map(({ id }) => id)).size).toBe(1)
    say(LOBBY, { kagan: "reply", id: hellos[0]!.id, ok: true, value: HELLO })
    expect(states.at(-1)).toMatchObject({ kind: "up", repo: "r1" })
    expect(clock.pending()).toBe(0)
    await clock.advance(60_000)
    expect(requests("hello")).toHaveLength(hellos.length)
  })

  test("waits for the directory, which the host knows late", () => {
    const { link, requests } = wired()
    link.connect("")
    expect(requests("hello")).toEqual([])
    link.connect("/r")
    link.connect("/r")
    expect(requests("hello")).toHaveLength(1)
  })

  test("without an answer the half is missing, nothing is armed, and its coming up is heard", async () => {
    const { clock, link, requests, states, say } = wired()
    link.connect("/r")
    await clock.advance(60_000)
    expect(states.at(-1)).toEqual({ kind: "missing" })
    expect(clock.pending()).toBe(0)
    const before = requests("hello").length
    say(LOBBY, { kagan: "up", directory: "/r", version: "1" })
    expect(requests("hello")).toHaveLength(before + 1)
  })

  test("a task that waits to be created is waited for longer, and is created when the half comes late", async () => {
    const { clock, link, states, requests, say } = wired()
    link.connect("/r")
    const made = link.ask("task.create", { draftID: "d1" } as never)
    await clock.advance(60_000)
    expect(states.at(-1)).toEqual({ kind: "connecting" })
    expect(requests("task.create")).toEqual([])
    say(LOBBY, { kagan: "reply", id: requests("hello").at(-1)!.id, ok: true, value: HELLO })
    await settle()
    const [create] = requests("task.create")
    say(channelName("r1"), { kagan: "reply", id: create!.id, ok: true, value: { text: "#1 created" } })
    expect(await made).toMatchObject({ ok: true })
  })

  test("and is refused with the reason where no half comes at all", async () => {
    const { clock, link, states } = wired()
    link.connect("/r")
    const made = link.ask("task.create", { draftID: "d1" } as never)
    await clock.advance(180_000)
    expect(states.at(-1)).toEqual({ kind: "missing" })
    expect(await made).toMatchObject({ ok: false, error: { kind: "unanswered" } })
    expect(clock.pending()).toBe(0)
  })

  test("a half that was missing stays so, while it is looked for again, until it answers", async () => {
    const { clock, link, requests, states, up } = wired()
    link.connect("/r")
    await clock.advance(60_000)
    link.connect("/r")
    expect(states.at(-1)).toEqual({ kind: "missing" })
    expect(await link.ask("task.stop", { sessionID: "s" })).toMatchObject({ ok: false })
    expect(requests("task.stop")).toEqual([])
    up()
    expect(states.at(-1)).toMatchObject({ kind: "up" })
  })

  test("an answer that comes after nobody waited for it any more is taken all the same", async () => {
    const { clock, link, requests, states, say } = wired()
    link.connect("/r")
    await clock.advance(60_000)
    expect(states.at(-1)).toEqual({ kind: "missing" })
    say(LOBBY, { kagan: "reply", id: requests("hello")[0]!.id, ok: true, value: HELLO })
    expect(states.at(-1)).toMatchObject({ kind: "up", repo: "r1" })
  })

  test("until the host knows the directory the server half hears at least that there is a board", () => {
    const { requests, say, sent } = wired()
    const here = { name: LOBBY, wire: { kagan: "board", open: false, directory: "" } }
    expect(sent).toEqual([here])
    say(LOBBY, { kagan: "up", directory: "/r", version: "1" })
    expect(sent).toEqual([here, here])
    expect(requests("hello")).toEqual([])
  })

  test("a reply to another board's hello is not ours, nor is noise on the name", () => {
    const { link, receivers, say, states } = wired()
    link.connect("/r")
    say(LOBBY, { kagan: "reply", id: "someone-else", ok: true, value: HELLO })
    for (const noise of [undefined, null, "x", 5, {}, { kagan: "odd" }]) receivers.get(LOBBY)?.(noise)
    expect(states.at(-1)).toEqual({ kind: "connecting" })
  })

  test("another version is a state of its own", () => {
    const { link, say, requests, states } = wired()
    link.connect("/r")
    say(LOBBY, { kagan: "reply", id: requests("hello")[0]!.id, ok: true, value: { ...HELLO, version: "2" } })
    expect(states.at(-1)).toEqual({ kind: "other_version", version: "2" })
  })
})

describe("requests", () => {
  test("are sent again once under the same id, and answered once", async () => {
    const { clock, link, requests, say, up } = wired()
    up()
    const answer = link.ask("task.stop", { sessionID: "s" })
    await clock.advance(9_000)
    const [first, second, third] = requests("task.stop")
    expect(second?.id).toBe(first?.id)
    expect(third).toBeUndefined()
    say(channelName("r1"), { kagan: "reply", id: first!.id, ok: true, value: { text: "stopped" } })
    say(channelName("r1"), { kagan: "reply", id: first!.id, ok: true, value: { text: "twice" } })
    expect(await answer).toEqual({ ok: true, value: { text: "stopped" } })
    expect(clock.pending()).toBe(0)
  })

  test("without an answer end as unanswered; a merge gets more time", async () => {
    const { clock, link, up } = wired()
    up()
    const short = link.ask("task.stop", { sessionID: "s" })
    let long: unknown
    void link.ask("task.approve", { sessionID: "s", snapshot: "x" }).then((answer) => (long = answer))
    await clock.advance(10_000)
    expect(await short).toMatchObject({ ok: false, error: { kind: "unanswered" } })
    expect(long).toBeUndefined()
    await clock.advance(120_000)
    await settle()
    expect(long).toMatchObject({ ok: false, error: { kind: "unanswered" } })
  })

  test("before the halves met they wait, and go out once when they have", async () => {
    const { link, requests, up } = wired()
    void link.ask("task.stop", { sessionID: "s" })
    await settle()
    expect(requests("task.stop")).toEqual([])
    up()
    await settle()
    expect(requests("task.stop")).toHaveLength(1)
  })

  test("what a half that was opened anew has not heard is asked of it again, under the same id", async () => {
    const { link, requests, say, up } = wired()
    up()
    const answer = link.ask("task.create", { draftID: "d", title: "t", description: "" })
    say(LOBBY, { kagan: "up", directory: "/r", version: "1" })
    say(LOBBY, { kagan: "reply", id: requests("hello").at(-1)!.id, ok: true, value: HELLO })
    const [first, second, third] = requests("task.create")
    expect(second).toEqual(first)
    expect(third).toBeUndefined()
    const value = { sessionID: "s", taskNumber: 1, text: "#1 created" }
    say(channelName("r1"), { kagan: "reply", id: first!.id, ok: true, value })
    expect(await answer).toEqual({ ok: true, value })
  })

  test("without a server half they end, with the reason", async () => {
    const { clock, link, requests } = wired()
    link.connect("/r")
    const answer = link.ask("task.stop", { sessionID: "s" })
    await clock.advance(60_000)
    expect(await answer).toMatchObject({
      ok: false,
      error: { kind: "unanswered", text: expect.stringContaining("cannot act") },
    })
    expect(await link.ask("task.stop", { sessionID: "s" })).toMatchObject({ ok: false })
    expect(requests("task.stop")).toEqual([])
  })

  test("a refusal comes through as it is", async () => {
    const { link, requests, say, up } = wired()
    up()
    const answer = link.ask("task.move", { sessionID: "s", to: "done" })
    const error = { kind: "refused" as const, refusal: { kind: "approval_needed" as const }, text: "only an approval" }
    say(channelName("r1"), { kagan: "reply", id: requests("task.move")[0]!.id, ok: false, error })
    expect(await answer).toEqual({ ok: false, error })
  })

  test("closing settles what waits and leaves no name open", async () => {
    const { clock, link, receivers, up } = wired()
    up()
    const answer = link.ask("task.stop", { sessionID: "s" })
    link.close()
    expect(await answer).toMatchObject({ ok: false })
    expect(receivers.size).toBe(0)
    expect(clock.pending()).toBe(0)
  })
})

describe("what the server half hears and tells", () => {
  test("that the board is open, also when it opened before they met", () => {
    const { link, sent, up } = wired()
    link.announce(true)
    up()
    link.announce(false)
    expect(sent.flatMap(({ name, wire }) => (wire.kagan === "board" && name !== LOBBY ? [wire.open] : []))).toEqual([
      true,
      false,
    ])
  })

  test("pushes are heard on the repository's name only", () => {
    const { pushes, say, up } = wired()
    up()
    const push: Push = { type: "changed", sessionIDs: ["s"] }
    say(LOBBY, { kagan: "push", push })
    say(channelName("r1"), { kagan: "push", push })
    expect(pushes).toEqual([push])
  })

  test("why the board can only look is one sentence", () => {
    const config = { spec: "opencode-kagan", file: "/r/opencode.json", listed: false, attached: false }
    expect(linkProblem({ kind: "missing" }, config)).toBe(
      'Kagan shows, but cannot act: add "opencode-kagan" to "plugin" in /r/opencode.json',
    )
    expect(linkProblem({ kind: "missing" }, { ...config, listed: true })).toContain("its server half does not answer")
    expect(linkProblem({ kind: "missing" }, { ...config, attached: true })).toContain("in an attached window")
    expect(linkProblem({ kind: "up", ...HELLO })).toBeUndefined()
    expect(linkProblem({ kind: "up", ...HELLO, readOnly: "no git here" })).toBe("no git here")
  })
})
