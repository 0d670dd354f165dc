import { join } from "node:path"
import { afterAll, beforeAll, expect } from "vitest"
import { text, toolCalls } from "../../kit/model.ts"
import { until } from "./bench.ts"
import { contract } from "./facts.ts"
import { keyFacts } from "./keys.ts"
import { goTo, openScreen, type Screen } from "./screen.ts"

const { fact, compare } = contract("terminal")

let screen: Screen
beforeAll(async () => {
  screen = await openScreen()
})
afterAll(() => screen?.dispose())

const half = () => screen.half
const go = (name: string, params?: Record<string, unknown>) => goTo(screen, name, params)
const create = (input: Record<string, unknown>): Promise<{ id: string }> =>
  half().run(async (p, given) => (await p.api.client.session.create(given)).data as any, input)

fact("M16, facts §4", "the server half runs in a worker thread of the same process and shares no globals", async () => {
  expect([half().init.pid, half().init["isMainThread"], screen.server.init["isMainThread"]]).toEqual([
    screen.server.init.pid,
    true,
    false,
  ])
  await half().run(() => {
    ;(globalThis as any).probeMark = "set in the TUI half"
    process.env["PROBE_MARK"] = "set in the TUI half"
  })
  expect(
    await screen.server.run(() => [(globalThis as any).probeMark ?? null, process.env["PROBE_MARK"] ?? null]),
  ).toEqual([null, null])
  return "same pid, TUI half on the main thread, server half not; globalThis and process.env are separate"
})

fact("facts §4", "a BroadcastChannel crosses between the two halves, with structured data", async () => {
  await screen.server.run((p) => {
    const channel = new BroadcastChannel("probe")
    channel.onmessage = ({ data }) => channel.postMessage({ echo: data.say, list: [1, { two: 2 }], at: new Date(0) })
    p.on("dispose", () => channel.close())
  })
  const answer = await half().run(
    () =>
      new Promise((resolve) => {
        const channel = new BroadcastChannel("probe")
        channel.onmessage = ({ data }) => {
          channel.close()
          resolve([data.echo, data.list, data.at instanceof Date])
        }
        channel.postMessage({ say: "hello" })
      }),
  )
  expect(answer).toEqual(["hello", [1, { two: 2 }], true])
  return "question and answer arrive; arrays, objects and dates are kept"
})

fact("M16", "input.serverUrl of the server half is the default address", async () => {
  const url = await screen.server.run((p) => String(p.input.serverUrl))
  expect(url).toBe("http://localhost:4096/")
  return `${url} (no server of this process listens there)`
})

fact("facts §2", "tui.json is needed for the TUI half, and each half has the options of its own file", async () => {
  await screen.serverOnly.server(screen.box.repo.dir)
  expect(screen.serverOnly.records().filter((one) => one.half === "tui")).toEqual([])
  expect([await screen.server.run((p) => p.options as any), await half().run((p) => p.options as any)]).toEqual([
    { side: "server" },
    { side: "tui" },
  ])
  const shown = await half().run((p) => p.api.state.config.plugin as any)
  expect(shown).toEqual([[screen.probe.spec, { side: "server" }], screen.serverOnly.spec])
  return "listed in opencode.json only: server half only; api.state.config.plugin has the server entry with its options"
})

fact("facts §4", "what api.state has is there when api.state.ready, which may be after a plugin's start", async () => {
  await until("the state is ready", () => half().run((p) => p.api.state.ready))
  const { directory, worktree } = await half().run((p) => p.api.state.path)
  expect([directory, worktree]).toEqual([screen.box.repo.dir, screen.box.repo.dir])
  return "ready, then path.directory and path.worktree are filled"
})

fact("facts §6", "api.event hears all instances", async () => {
  const tree = join(screen.box.root, "tree-1")
  await screen.box.repo.git("worktree", "add", "-q", "-b", "branch-tree-1", tree)
  await create({ title: "In a worktree", directory: tree })
  await screen.probe.waitFor((one) => one.type === "heard" && one["directory"] === tree)
  return "session.created of a worktree's session arrives in the TUI half"
})

fact("facts §11", "the slots home_bottom and app_bottom on home; on a plugin's route app_bottom only", async () => {
  await screen.tui.waitFor("AT HOME'S BOTTOM")
  await screen.tui.waitFor("AT THE APP'S BOTTOM")
  await go("probe")
  const seen = await screen.tui.waitFor("THE PROBE'S ROUTE")
  expect([seen.includes("AT THE APP'S BOTTOM"), seen.includes("AT HOME'S BOTTOM")]).toEqual([true, false])
  await go("home")
  await screen.tui.waitFor("AT HOME'S BOTTOM")
  return "app_bottom stands below the route"
})

fact("idioms §3, facts §11", "a toast is shown on home, from either half, and not on a plugin's route", async () => {
  const toast = (message: string) =>
    half().run((p, text) => p.api.ui.toast({ message: text, duration: 60_000 }), message)
  await toast("A TOAST AT HOME")
  await screen.tui.waitFor("A TOAST AT HOME")
  await screen.server.run((p) =>
    p.client.tui.showToast({ message: "SENT BY THE SERVER", variant: "info", duration: 60_000 }),
  )
  await screen.tui.waitFor("SENT BY THE SERVER")
  await go("probe")
  const seen = await screen.tui.waitFor("THE PROBE'S ROUTE")
  expect(seen).not.toContain("SENT BY THE SERVER")
  await toast("A TOAST ON THE ROUTE")
  await half().run((p) => p.api.ui.dialog.replace(() => p.api.ui.DialogAlert({ title: "DRAWN LATER", message: "x" })))
  expect(await screen.tui.waitFor("DRAWN LATER")).not.toContain("A TOAST ON THE ROUTE")
  await screen.tui.press("esc")
  await screen.tui.waitGone("DRAWN LATER")
  await go("home")
  return "home shows api.ui.toast and client.tui.showToast; the route shows neither"
})

keyFacts(fact, () => screen)

fact("facts §13", "a hidden primary agent is not in the tab cycle and not offered after @", async () => {
  const seen: string[] = []
  for (const next of ["Plan", "Zz-Shown", "Build"]) {
    await screen.tui.press("tab")
    seen.push(await screen.tui.waitFor((now) => new RegExp(`\\b${next}\\b`, "i").test(now)))
  }
  expect(seen.join("\n").toLowerCase()).not.toContain("zz-hidden")
  await screen.tui.type("@zz-")
  const list = await screen.tui.waitFor((now) => /zz-shown|No matching/i.test(now.replace("@zz-", "")))
  expect(list.toLowerCase()).not.toContain("zz-hidden")
  await screen.tui.press("esc", ...Array.from({ length: 4 }, () => "backspace"))
  await screen.tui.waitGone("@zz-")
  return "tab: build, plan, zz-shown, build"
})

fact("facts §5", "a child session is for looking only, a root session in a worktree can be talked to", async () => {
  const root = await create({ title: "The root session", directory: join(screen.box.root, "tree-1") })
  const child = await create({ title: "The child session", parentID: root.id })
  await half().run(
    (p, id) =>
      p.api.client.session.prompt({
        sessionID: id,
        noReply: true,
        parts: [
          { type: "text", text: "A SYNTHETIC PART", synthetic: true },
          { type: "text", text: "A TYPED PART" },
        ],
      }),
    root.id,
  )
  await go("session", { sessionID: root.id })
  expect(await screen.tui.waitFor("A TYPED PART")).not.toContain("A SYNTHETIC PART")
  await screen.tui.type("said to the root")
  await screen.tui.waitFor("said to the root")
  await screen.tui.press("enter")
  await screen.model.waitForRequest((request) => request.lastUser === "said to the root")
  await screen.tui.waitFor("Done.")
  await go("session", { sessionID: child.id })
  await screen.tui.waitFor(/subagent|parent/i)
  await screen.tui.type("qqq")
  await half().run((p) => p.api.ui.dialog.replace(() => p.api.ui.DialogAlert({ title: "DRAWN LATER", message: "x" })))
  expect(await screen.tui.waitFor("DRAWN LATER")).not.toContain("qqq")
  await screen.tui.press("esc")
  await screen.tui.waitGone("DRAWN LATER")
  await go("home")
  await screen.tui.waitFor("AT HOME'S BOTTOM")
  return "typing in the worktree's root session starts a turn there; the child has no prompt; synthetic parts are not shown"
})

fact(
  "facts §7",
  "a pending permission of a worktree's session is in api.state and answered with its directory",
  async () => {
    const tree = join(screen.box.root, "tree-1")
    const { id } = await create({ title: "Asks", directory: tree })
    screen.model.script((request) =>
      request.toolResults.length > 0
        ? text("Done.")
        : toolCalls({ name: "bash", args: { command: "true", description: "x" } }),
    )
    await half().run((p, sessionID) => {
      void p.api.client.session.promptAsync({ sessionID, parts: [{ type: "text", text: "run it" }] })
    }, id)
    const asked = await until("the permission is in the state", () =>
      half().run((p, sessionID) => p.api.state.session.permission(sessionID)[0]?.id ?? null, id),
    )
    await half().run(
      (p, requestID, directory) =>
        p.api.client.permission.reply({ requestID, reply: "once", directory }).then(() => null),
      asked,
      tree,
    )
    await until("nothing is pending", () =>
      half().run((p, sessionID) => p.api.state.session.permission(sessionID).length === 0, id),
    )
    await until("the turn is over", () =>
      half().run(async (p, sessionID) => {
        const { data } = await p.api.client.session.messages({ sessionID })
        return (data?.at(-1)?.info as any)?.finish === "stop"
      }, id),
    )
    return "api.state.session.permission has it, and it is gone after the reply; the turn ends with finish stop"
  },
)

fact(
  "facts §10",
  "an exception in an event handler, a command or a slot does the TUI no harm; an ErrorBoundary holds one in a render",
  async () => {
    await half().run((p) => {
      p.api.event.on("session.created", () => {
        throw new Error("thrown in an event handler")
      })
      p.api.keymap.registerLayer({
        commands: [
          {
            name: "probe.throw",
            title: "Throw",
            run: () => {
              throw new Error("thrown in a command")
            },
          },
        ],
      } as any)
    })
    await create({ title: "After the throw" })
    const result = await half().run((p) => p.api.keymap.dispatchCommand("probe.throw") as any)
    expect(result).toMatchObject({ ok: false, reason: "error" })
    await go("guarded")
    await screen.tui.waitFor("caught: thrown in a render")
    await go("home")
    await screen.tui.waitFor("AT HOME'S BOTTOM")
    return "dispatchCommand answers {ok: false, reason: error}; the boundary's text is drawn; the host goes on"
  },
)

fact("facts §6", "a quit while a tool runs aborts it in order and runs the dispose of both halves", async () => {
  const { id } = await create({ title: "To be quit" })
  screen.model.script((request) =>
    request.toolResults.length > 0
      ? text("Done.")
      : toolCalls(
          { name: "todowrite", args: { todos: [] } },
          { name: "bash", args: { command: "true", description: "x" } },
        ),
  )
  await half().run((p, sessionID) => {
    void p.api.client.session.promptAsync({ sessionID, parts: [{ type: "text", text: "be quit" }] })
  }, id)
  await until("it waits for the permission", () =>
    half().run((p, sessionID) => p.api.state.session.permission(sessionID).length > 0, id),
  )
  await go("home")
  await screen.tui.quit()
  const disposed = screen.probe
    .records()
    .filter((one) => one.type === "dispose")
    .map((one) => one.half)
  expect(new Set(disposed)).toEqual(new Set(["server", "tui"]))
  await screen.restart()
  const last = await half().run(async (p, sessionID) => {
    const { data } = await p.api.client.session.messages({ sessionID })
    return data!.at(-1)!.info as any
  }, id)
  expect(last).toMatchObject({ error: { name: "MessageAbortedError" }, time: { completed: expect.any(Number) } })
  return "both dispose hooks ran; after a restart the message has MessageAbortedError and time.completed"
})

fact("facts §10", "an exception in a route's render takes the whole TUI down", async () => {
  await go("crash")
  await screen.tui.waitFor(/crash|fatal|exception/i)
  expect(screen.tui.screen()).not.toContain("AT THE APP'S BOTTOM")
  return "the host's crash page takes the place of everything"
})

compare()
