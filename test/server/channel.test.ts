import { afterEach, describe, expect, test } from "vitest"
import { channelName, LOBBY, type ReplyOf, type Wire } from "../../src/core/protocol.ts"
import { ok } from "../../src/core/result.ts"
import { DEFAULT_OPTIONS } from "../../src/core/options.ts"
import { openServerChannel, processChannel, type Handlers, type ServerChannel } from "../../src/server/channel.ts"

const hello: ReplyOf<"hello"> = { repo: "r1", root: "/r", version: "1", options: DEFAULT_OPTIONS, problems: [] }

/** All names of one process: what is posted on a name reaches the other ends of it. */
function makeWires() {
  const ends: { name: string; receive: (data: unknown) => void }[] = []
  const open = (name: string, receive: (data: unknown) => void) => {
    const end = { name, receive }
    ends.push(end)
    return {
      post(wire: Wire) {
        const copy: unknown = structuredClone(wire)
        for (const other of ends) if (other !== end && other.name === name) other.receive(copy)
      },
      close(): void {
        ends.splice(ends.indexOf(end), 1)
      },
    }
  }
  return { open, ends }
}

/** A board's end that keeps everything it hears and lets a test wait for it. */
function makeBoard(open: ReturnType<typeof makeWires>["open"], name: string) {
  const heard: Wire[] = []
  let wake = () => {}
  const port = open(name, (data) => {
    heard.push(data as Wire)
    wake()
  })
  return {
    heard,
    port,
    ask: (id: string, type: string, body: unknown = { sessionID: "s" }) =>
      port.post({ kagan: "request", id, type: type as "board.facts", body }),
    async until(count: number): Promise<readonly Wire[]> {
      while (heard.length < count) await new Promise<void>((resolve) => (wake = resolve))
      return heard
    },
  }
}

/** Handlers of which only the named ones may be called. */
function handlers(named: Partial<Handlers>): Handlers {
  return named as Handlers
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const channels: ServerChannel[] = []
afterEach(() => channels.splice(0).forEach((channel) => channel.close()))

function setup(
  named: Partial<Handlers> = {},
  greet: (directory: string) => ReplyOf<"hello"> | undefined = () => hello,
) {
  const wires = makeWires()
  const reports: string[] = []
  const channel = openServerChannel({
    greet: async ({ directory }) => greet(directory),
    report: (text) => reports.push(text),
    openPort: wires.open,
  })
  channels.push(channel)
  channel.serve("r1", handlers(named))
  const lobby = makeBoard(wires.open, LOBBY)
  const board = makeBoard(wires.open, channelName("r1"))
  return { channel, reports, wires, lobby, board }
}

describe("the lobby", () => {
  test("answers hello for a directory that is served, and knows that somebody asked", async () => {
    const { channel, lobby } = setup()
    expect(channel.heard()).toBe(false)
    lobby.ask("h1", "hello", { directory: "/r", version: "1" })
    expect(await lobby.until(1)).toEqual([{ kagan: "reply", id: "h1", ok: true, value: hello }])
    expect(channel.heard()).toBe(true)
  })

  test("is silent for another's directory, and answers the same hello later", async () => {
    let known = false
    const { lobby } = setup({}, () => (known ? hello : undefined))
    lobby.ask("h1", "hello", { directory: "/r", version: "1" })
    await settled()
    expect(lobby.heard).toEqual([])
    known = true
    lobby.ask("h1", "hello", { directory: "/r", version: "1" })
    expect(await lobby.until(1)).toHaveLength(1)
  })

  test("knows of a board whose directory the host does not know yet", async () => {
    const { channel, lobby } = setup()
    lobby.port.post({ kagan: "board", open: false, directory: "" })
    await settled()
    expect(channel.heard()).toBe(true)
    expect(channel.watched("r1")).toBe(false)
  })

  test("ignores what is not well formed", async () => {
    const { lobby, reports } = setup()
    for (const data of [null, 7, {}, { kagan: "request" }]) lobby.port.post(data as unknown as Wire)
    lobby.ask("h1", "hello", null)
    lobby.ask("h2", "hello", { directory: 7, version: "1" })
    lobby.ask("h3", "board.facts")
    await settled()
    expect(lobby.heard).toEqual([])
    expect(reports).toEqual([])
  })

  test("tells that a half has come up", () => {
    const { channel, lobby } = setup()
    channel.announce("/r", "1")
    expect(lobby.heard).toEqual([{ kagan: "up", directory: "/r", version: "1" }])
  })
})

describe("requests", () => {
  test("are answered by their handler", async () => {
    const { board } = setup({ "task.stop": async ({ sessionID }) => ok({ text: `stopped ${sessionID}` }) })
    board.ask("1", "task.stop", { sessionID: "s1" })
    expect(await board.until(1)).toEqual([{ kagan: "reply", id: "1", ok: true, value: { text: "stopped s1" } }])
  })

  test("one that is sent again while it runs is run and answered once", async () => {
    let runs = 0
    let finish: (value: unknown) => void = () => {}
    const { board } = setup({
      "task.stop": async () => {
        runs++
        await new Promise((resolve) => (finish = resolve))
        return ok({ text: "done" })
      },
    })
    board.ask("1", "task.stop")
    board.ask("1", "task.stop")
    finish(undefined)
    await board.until(1)
    await settled()
    expect(runs).toBe(1)
    expect(board.heard).toHaveLength(1)
  })

  test("one that is sent again after its answer gets the same answer and is not run again", async () => {
    let runs = 0
    const { board } = setup({ "task.stop": async () => ok({ text: `run ${++runs}` }) })
    board.ask("1", "task.stop")
    await board.until(1)
    board.ask("1", "task.stop")
    const [first, second] = await board.until(2)
    expect(second).toEqual(first)
    expect(runs).toBe(1)
  })

  test("an answer that comes when the half was opened anew meanwhile arrives", async () => {
    const gate = Promise.withResolvers<void>()
    const slow = {
      "task.stop": async () => {
        await gate.promise
        return ok({ text: "stopped" })
      },
    }
    const { board, channel, reports } = setup(slow)
    board.ask("1", "task.stop")
    await settled()
    channel.retire("r1")
    channel.serve("r1", handlers({}))
    gate.resolve()
    expect(await board.until(1)).toEqual([{ kagan: "reply", id: "1", ok: true, value: { text: "stopped" } }])
    expect(reports).toEqual([])
  })

  test("what only reads is read again", async () => {
    let runs = 0
    const { board } = setup({
      "board.facts": async () => {
        runs++
        return ok({ facts: [], drafts: [] })
      },
    })
    board.ask("1", "board.facts")
    await board.until(1)
    board.ask("1", "board.facts")
    await board.until(2)
    expect(runs).toBe(2)
  })

  test("what is remembered is bounded", async () => {
    let runs = 0
    const { board } = setup({ "task.stop": async () => ok({ text: `run ${++runs}` }) })
    for (let n = 0; n < 1_000; n++) board.ask(`${n}`, "task.stop")
    await board.until(1_000)
    board.ask("999", "task.stop")
    board.ask("0", "task.stop")
    await board.until(1_002)
    expect(runs).toBe(1_001)
  })

  test("a fault is answered and reported, an unknown request and one without a body are answered", async () => {
    const { board, reports } = setup({
      "task.stop": async () => {
        throw new Error("boom")
      },
      "task.tell": async () => ok({ text: () => "not to be cloned" } as unknown as { text: string }),
    })
    board.ask("1", "task.stop")
    board.ask("2", "task.fly")
    board.ask("3", "toString")
    board.ask("4", "task.stop", null)
    board.ask("5", "task.tell", { sessionID: "s", text: "hi" })
    board.ask("6", "task.tell", { sessionID: "../s", text: "hi" })
    const replies = await board.until(6)
    const texts = Object.fromEntries(
      replies.map((wire) => [wire.kagan === "reply" && wire.id, wire.kagan === "reply" && !wire.ok && wire.error.text]),
    )
    expect(texts["1"]).toContain("boom")
    expect(texts["2"]).toContain("does not know task.fly")
    expect(texts["3"]).toContain("does not know toString")
    expect(texts["4"]).toContain("without a body")
    expect(texts["5"]).toMatch(/clone/i)
    expect(texts["6"]).toMatch(/^task.tell was not understood: `sessionID`/)
    expect(reports).toEqual([expect.stringContaining("boom"), expect.stringMatching(/clone/i)])
  })

  test("serving again changes the handlers, retiring ends the answers", async () => {
    const { channel, board, wires } = setup({ "task.stop": async () => ok({ text: "old" }) })
    channel.serve("r1", handlers({ "task.stop": async () => ok({ text: "new" }) }))
    board.ask("1", "task.stop")
    expect(await board.until(1)).toMatchObject([{ value: { text: "new" } }])
    channel.retire("r1")
    board.ask("2", "task.stop")
    await settled()
    expect(board.heard).toHaveLength(1)
    expect(wires.ends.filter((end) => end.name === channelName("r1"))).toHaveLength(1)
  })
})

describe("pushes", () => {
  test("go to boards that said hello, and to nobody before", async () => {
    const { channel, lobby, board } = setup()
    const push = { type: "drafts", drafts: [] } as const
    channel.push("r1", push)
    channel.push("unknown", push)
    expect(board.heard).toEqual([])
    lobby.ask("h1", "hello", { directory: "/r", version: "1" })
    await lobby.until(1)
    channel.push("r1", push)
    expect(board.heard).toEqual([{ kagan: "push", push }])
  })

  test("it is known whether a board stands open", () => {
    const { channel, board } = setup()
    const changes: boolean[] = []
    const end = channel.onWatched((_, watched) => changes.push(watched))
    const tell = (open: boolean, directory = "/r") => board.port.post({ kagan: "board", open, directory })
    tell(true)
    tell(true)
    tell(true, "/r/sub")
    tell(false)
    expect(channel.watched("r1")).toBe(true)
    tell(false, "/r/sub")
    expect(channel.watched("r1")).toBe(false)
    end()
    tell(true)
    expect(changes).toEqual([true, false])
  })
})

test("over the real channel of the process, which is one for all copies of the module", async () => {
  const first = processChannel({ greet: async () => undefined, report: () => {} })
  const second = processChannel({ greet: async () => hello, report: () => {} })
  channels.push(first)
  expect(second).toBe(first)
  first.serve("r1", handlers({ "task.stop": async () => ok({ text: "done" }) }))
  const open = (name: string, receive: (data: unknown) => void) => {
    const port = new BroadcastChannel(name)
    port.addEventListener("message", (event: MessageEvent) => receive(event.data))
    return { post: (wire: Wire) => port.postMessage(wire), close: () => port.close() }
  }
  const lobby = makeBoard(open, LOBBY)
  const board = makeBoard(open, channelName("r1"))
  lobby.ask("h", "hello", { directory: "/r", version: "1" })
  expect(await lobby.until(1)).toMatchObject([{ ok: true, value: { repo: "r1" } }])
  board.ask("1", "task.stop", { sessionID: "s" })
  expect(await board.until(1)).toMatchObject([{ ok: true, value: { text: "done" } }])
  lobby.port.close()
  board.port.close()
})
