import { join } from "node:path"
import { afterAll, beforeAll, expect } from "vitest"
import { startModel, text, toolCalls, type Model } from "../../kit/model.ts"
import { makeProbe, type InServer, type InTui, type Probe, type ProbeHalf } from "../../kit/probe/probe.ts"
import { makeSandbox, type Sandbox } from "../../kit/sandbox.ts"
import { startTui, type Terminal } from "../../kit/terminal.ts"
import { until } from "./bench.ts"
import { contract } from "./facts.ts"

const { fact, compare } = contract("terminal")

let model: Model
let box: Sandbox
let probe: Probe
/** Listed in opencode.json only. */
let serverOnly: Probe
let tui: Terminal
let server: ProbeHalf<InServer>
let screen: ProbeHalf<InTui>

const agents = {
  "zz-hidden": { mode: "primary", hidden: true, description: "in no list" },
  "zz-shown": { mode: "primary", description: "in the cycle" },
}

beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({ model, plugin: false, config: { agent: agents, permission: { bash: "ask" } } })
  probe = await makeProbe(box.root, "probe-a", {
    tui(p) {
      p.api.event.on("session.created", (event) => p.record("heard", { directory: event.properties.info.directory }))
      p.api.slots.register({
        slots: {
          app_bottom: () => p.view.line("AT THE APP'S BOTTOM"),
          home_bottom: () => p.view.line("AT HOME'S BOTTOM"),
          sidebar_content: () => {
            throw new Error("thrown in a slot")
          },
        },
      })
      p.api.route.register([
        { name: "probe", render: () => p.view.line("THE PROBE'S ROUTE") },
        {
          name: "guarded",
          render: () =>
            p.view.guarded(() => {
              throw new Error("thrown in a render")
            }),
        },
        {
          name: "crash",
          render: () => {
            throw new Error("thrown in a render")
          },
        },
      ])
      const pressed = (name: string) => ({ name, title: `Command ${name}`, run: () => p.record("pressed", { name }) })
      p.api.keymap.registerLayer({
        mode: "base",
        enabled: () => p.api.route.current.name === "probe",
        commands: [pressed("with-mode")],
        bindings: [{ key: "y", cmd: "with-mode" }],
      })
      p.api.keymap.registerLayer({
        enabled: () => p.api.route.current.name === "probe",
        commands: [pressed("without-mode")],
        bindings: [{ key: "z", cmd: "without-mode" }],
      })
      p.api.keymap.registerLayer({
        commands: [
          {
            name: "probe.open",
            title: "Open the probe",
            namespace: "palette",
            slashName: "probe-open",
            run: () => p.api.route.navigate("probe"),
          },
        ],
        bindings: [{ key: "<leader>k", cmd: "probe.open" }],
      } as any)
    },
  })
  serverOnly = await makeProbe(box.root, "probe-b")
  await box.writeConfig({
    config: { agent: agents, permission: { bash: "ask" }, plugin: [[probe.spec, { side: "server" }], serverOnly.spec] },
    tui: { plugin: [[probe.spec, { side: "tui" }]] },
  })
  tui = await startTui(box, { cols: 100, rows: 30 })
  screen = await probe.tui()
  server = await probe.server(box.repo.dir)
  await tui.waitFor("Model One")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const go = (name: string, params?: Record<string, unknown>) =>
  screen.run((p, route, given) => p.api.route.navigate(route, given ?? undefined), name, params ?? null)
const pressed = (name: string) => probe.records().filter((one) => one.type === "pressed" && one["name"] === name).length
const create = (input: Record<string, unknown>): Promise<{ id: string }> =>
  screen.run(async (p, given) => (await p.api.client.session.create(given)).data as any, input)

fact("M16, facts §4", "the server half runs in a worker thread of the same process and shares no globals", async () => {
  expect([screen.init.pid, screen.init["isMainThread"], server.init["isMainThread"]]).toEqual([
    server.init.pid,
    true,
    false,
  ])
  await screen.run(() => {
    ;(globalThis as any).probeMark = "set in the TUI half"
    process.env["PROBE_MARK"] = "set in the TUI half"
  })
  expect(await server.run(() => [(globalThis as any).probeMark ?? null, process.env["PROBE_MARK"] ?? null])).toEqual([
    null,
    null,
  ])
  return "same pid, TUI half on the main thread, server half not; globalThis and process.env are separate"
})

fact("facts §4", "a BroadcastChannel crosses between the two halves, with structured data", async () => {
  await server.run((p) => {
    const channel = new BroadcastChannel("probe")
    channel.onmessage = ({ data }) => channel.postMessage({ echo: data.say, list: [1, { two: 2 }], at: new Date(0) })
    p.on("dispose", () => channel.close())
  })
  const answer = await screen.run(
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
  const url = await server.run((p) => String(p.input.serverUrl))
  expect(url).toBe("http://localhost:4096/")
  return `${url} (no server of this process listens there)`
})

fact("facts §2", "tui.json is needed for the TUI half, and each half has the options of its own file", async () => {
  await serverOnly.server(box.repo.dir)
  expect(serverOnly.records().filter((one) => one.half === "tui")).toEqual([])
  expect([await server.run((p) => p.options as any), await screen.run((p) => p.options as any)]).toEqual([
    { side: "server" },
    { side: "tui" },
  ])
  const shown = await screen.run((p) => p.api.state.config.plugin as any)
  expect(shown).toEqual([[probe.spec, { side: "server" }], serverOnly.spec])
  return "listed in opencode.json only: server half only; api.state.config.plugin has the server entry with its options"
})

fact("facts §4", "what api.state has is there when api.state.ready, which may be after a plugin's start", async () => {
  await until("the state is ready", () => screen.run((p) => p.api.state.ready))
  const { directory, worktree } = await screen.run((p) => p.api.state.path)
  expect([directory, worktree]).toEqual([box.repo.dir, box.repo.dir])
  return "ready, then path.directory and path.worktree are filled"
})

fact("facts §6", "api.event hears all instances", async () => {
  const tree = join(box.root, "tree-1")
  await box.repo.git("worktree", "add", "-q", "-b", "branch-tree-1", tree)
  await create({ title: "In a worktree", directory: tree })
  await probe.waitFor((one) => one.type === "heard" && one["directory"] === tree)
  return "session.created of a worktree's session arrives in the TUI half"
})

fact("facts §11", "the slots home_bottom and app_bottom on home; on a plugin's route app_bottom only", async () => {
  await tui.waitFor("AT HOME'S BOTTOM")
  await tui.waitFor("AT THE APP'S BOTTOM")
  await go("probe")
  const seen = await tui.waitFor("THE PROBE'S ROUTE")
  expect([seen.includes("AT THE APP'S BOTTOM"), seen.includes("AT HOME'S BOTTOM")]).toEqual([true, false])
  await go("home")
  await tui.waitFor("AT HOME'S BOTTOM")
  return "app_bottom stands below the route"
})

fact("idioms §3, facts §11", "a toast is shown on home, from either half, and not on a plugin's route", async () => {
  const toast = (message: string) =>
    screen.run((p, text) => p.api.ui.toast({ message: text, duration: 60_000 }), message)
  await toast("A TOAST AT HOME")
  await tui.waitFor("A TOAST AT HOME")
  await server.run((p) => p.client.tui.showToast({ message: "SENT BY THE SERVER", variant: "info", duration: 60_000 }))
  await tui.waitFor("SENT BY THE SERVER")
  await go("probe")
  const seen = await tui.waitFor("THE PROBE'S ROUTE")
  expect(seen).not.toContain("SENT BY THE SERVER")
  await toast("A TOAST ON THE ROUTE")
  await screen.run((p) => p.api.ui.dialog.replace(() => p.api.ui.DialogAlert({ title: "DRAWN LATER", message: "x" })))
  expect(await tui.waitFor("DRAWN LATER")).not.toContain("A TOAST ON THE ROUTE")
  await tui.press("esc")
  await tui.waitGone("DRAWN LATER")
  await go("home")
  return "home shows api.ui.toast and client.tui.showToast; the route shows neither"
})

fact(
  "facts §9",
  "a layer of mode base rests while a dialog is open, one without a mode steals its letters",
  async () => {
    await go("probe")
    await tui.waitFor("THE PROBE'S ROUTE")
    await tui.press("y", "z")
    await until("both fire", () => pressed("with-mode") === 1 && pressed("without-mode") === 1)
    await screen.run((p) => p.api.ui.dialog.replace(() => p.api.ui.DialogPrompt({ title: "A DIALOG" })))
    await tui.waitFor("A DIALOG")
    expect(await screen.run((p) => p.api.mode.current())).toBe("modal")
    await tui.type("xyzw")
    await tui.waitFor("xyw")
    expect([pressed("with-mode"), pressed("without-mode")]).toEqual([1, 2])
    await tui.press("esc")
    await tui.waitGone("A DIALOG")
    expect(await screen.run((p) => p.api.route.current.name)).toBe("probe")
    await tui.press("y")
    await until("it fires again", () => pressed("with-mode") === 2)
    return "typed xyzw: the dialog has xyw, only the layer without a mode fired; esc closes the dialog, not the route; then base fires again"
  },
)

fact("facts §9", "the palette, <leader> keys and a slash name reach a plugin's command", async () => {
  await tui.press("ctrl+p")
  await tui.waitFor("Commands")
  await tui.type("Open the")
  await tui.waitFor("Open the probe")
  await tui.press("esc")
  await tui.waitGone("Commands")
  await go("home")
  await tui.waitFor("AT HOME'S BOTTOM")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("THE PROBE'S ROUTE")
  await go("home")
  await tui.waitFor("AT HOME'S BOTTOM")
  await tui.type("/probe-op")
  await tui.waitFor("/probe-open")
  await tui.press("enter")
  await tui.waitFor("THE PROBE'S ROUTE")
  await go("home")
  await tui.waitFor("AT HOME'S BOTTOM")
  return "in ctrl+p on the route, by ctrl+x k, and as /probe-open"
})

fact("facts §13", "a hidden primary agent is not in the tab cycle and not offered after @", async () => {
  const seen: string[] = []
  for (const next of ["Plan", "Zz-Shown", "Build"]) {
    await tui.press("tab")
    seen.push(await tui.waitFor((now) => new RegExp(`\\b${next}\\b`, "i").test(now)))
  }
  expect(seen.join("\n").toLowerCase()).not.toContain("zz-hidden")
  await tui.type("@zz-")
  const list = await tui.waitFor((now) => /zz-shown|No matching/i.test(now.replace("@zz-", "")))
  expect(list.toLowerCase()).not.toContain("zz-hidden")
  await tui.press("esc", ...Array.from({ length: 4 }, () => "backspace"))
  await tui.waitGone("@zz-")
  return "tab: build, plan, zz-shown, build"
})

fact("facts §5", "a child session is for looking only, a root session in a worktree can be talked to", async () => {
  const root = await create({ title: "The root session", directory: join(box.root, "tree-1") })
  const child = await create({ title: "The child session", parentID: root.id })
  await screen.run(
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
  expect(await tui.waitFor("A TYPED PART")).not.toContain("A SYNTHETIC PART")
  await tui.type("said to the root")
  await tui.waitFor("said to the root")
  await tui.press("enter")
  await model.waitForRequest((request) => request.lastUser === "said to the root")
  await tui.waitFor("Done.")
  await go("session", { sessionID: child.id })
  await tui.waitFor(/subagent|parent/i)
  await tui.type("qqq")
  await screen.run((p) => p.api.ui.dialog.replace(() => p.api.ui.DialogAlert({ title: "DRAWN LATER", message: "x" })))
  expect(await tui.waitFor("DRAWN LATER")).not.toContain("qqq")
  await tui.press("esc")
  await tui.waitGone("DRAWN LATER")
  await go("home")
  await tui.waitFor("AT HOME'S BOTTOM")
  return "typing in the worktree's root session starts a turn there; the child has no prompt; synthetic parts are not shown"
})

fact(
  "facts §7",
  "a pending permission of a worktree's session is in api.state and answered with its directory",
  async () => {
    const tree = join(box.root, "tree-1")
    const { id } = await create({ title: "Asks", directory: tree })
    model.script((request) =>
      request.toolResults.length > 0
        ? text("Done.")
        : toolCalls({ name: "bash", args: { command: "true", description: "x" } }),
    )
    await screen.run((p, sessionID) => {
      void p.api.client.session.promptAsync({ sessionID, parts: [{ type: "text", text: "run it" }] })
    }, id)
    const asked = await until("the permission is in the state", () =>
      screen.run((p, sessionID) => p.api.state.session.permission(sessionID)[0]?.id ?? null, id),
    )
    await screen.run(
      (p, requestID, directory) =>
        p.api.client.permission.reply({ requestID, reply: "once", directory }).then(() => null),
      asked,
      tree,
    )
    await until("nothing is pending", () =>
      screen.run((p, sessionID) => p.api.state.session.permission(sessionID).length === 0, id),
    )
    await until("the turn is over", () =>
      screen.run(async (p, sessionID) => {
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
    await screen.run((p) => {
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
    const result = await screen.run((p) => p.api.keymap.dispatchCommand("probe.throw") as any)
    expect(result).toMatchObject({ ok: false, reason: "error" })
    await go("guarded")
    await tui.waitFor("caught: thrown in a render")
    await go("home")
    await tui.waitFor("AT HOME'S BOTTOM")
    return "dispatchCommand answers {ok: false, reason: error}; the boundary's text is drawn; the host goes on"
  },
)

fact("facts §6", "a quit while a tool runs aborts it in order and runs the dispose of both halves", async () => {
  const { id } = await create({ title: "To be quit" })
  model.script((request) =>
    request.toolResults.length > 0
      ? text("Done.")
      : toolCalls(
          { name: "todowrite", args: { todos: [] } },
          { name: "bash", args: { command: "true", description: "x" } },
        ),
  )
  await screen.run((p, sessionID) => {
    void p.api.client.session.promptAsync({ sessionID, parts: [{ type: "text", text: "be quit" }] })
  }, id)
  await until("it waits for the permission", () =>
    screen.run((p, sessionID) => p.api.state.session.permission(sessionID).length > 0, id),
  )
  await go("home")
  await tui.quit()
  const disposed = probe
    .records()
    .filter((one) => one.type === "dispose")
    .map((one) => one.half)
  expect(new Set(disposed)).toEqual(new Set(["server", "tui"]))
  tui = await startTui(box, { cols: 100, rows: 30 })
  screen = await probe.tui(tui.pid)
  await tui.waitFor("Model One")
  const last = await screen.run(async (p, sessionID) => {
    const { data } = await p.api.client.session.messages({ sessionID })
    return data!.at(-1)!.info as any
  }, id)
  expect(last).toMatchObject({ error: { name: "MessageAbortedError" }, time: { completed: expect.any(Number) } })
  return "both dispose hooks ran; after a restart the message has MessageAbortedError and time.completed"
})

fact("facts §10", "an exception in a route's render takes the whole TUI down", async () => {
  await go("crash")
  await tui.waitFor(/crash|fatal|exception/i)
  expect(tui.screen()).not.toContain("AT THE APP'S BOTTOM")
  return "the host's crash page takes the place of everything"
})

compare()
