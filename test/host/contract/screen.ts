import { startModel, text, type Model } from "../../kit/model.ts"
import { makeProbe, type InServer, type InTui, type Probe, type ProbeHalf } from "../../kit/probe/probe.ts"
import { makeSandbox, type Sandbox } from "../../kit/sandbox.ts"
import { startTui, type Terminal } from "../../kit/terminal.ts"

/** One real terminal UI with a scripted model and a probe in both of its halves. */
export interface Screen {
  readonly model: Model
  readonly box: Sandbox
  readonly probe: Probe
  /** Listed in opencode.json only. */
  readonly serverOnly: Probe
  /** The terminal and the halves that run in it; others after a `restart`. */
  readonly tui: Terminal
  readonly server: ProbeHalf<InServer>
  readonly half: ProbeHalf<InTui>
  restart(): Promise<void>
  dispose(): Promise<void>
}

const config = {
  snapshot: false,
  permission: { bash: "ask" },
  agent: {
    "zz-hidden": { mode: "primary", hidden: true, description: "in no list" },
    "zz-shown": { mode: "primary", description: "in the cycle" },
  },
}

/** What the probe puts into the terminal UI. */
function setUp(p: InTui): void {
  p.api.event.on("session.created", (event) => p.record("heard", { directory: event.properties.info.directory }))
  p.api.slots.register({
    slots: {
      app_bottom: () => p.view.line("AT THE APP'S BOTTOM"),
      home_bottom: () => p.view.line("AT HOME'S BOTTOM"),
      home_prompt_right: () => {
        throw new Error("thrown in a slot")
      },
    },
  })
  p.api.route.register([
    { name: "probe", render: () => p.view.line("THE PROBE'S ROUTE") },
    { name: "size", render: () => p.view.size() },
    { name: "mouse", render: () => p.view.target("PRESS HERE", (col, row) => p.record("mouse", { col, row })) },
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
}

/** Goes to a route by the API, as a plugin does. */
export const goTo = (screen: Screen, name: string, params?: Record<string, unknown>) =>
  screen.half.run((p, route, given) => p.api.route.navigate(route, given ?? undefined), name, params ?? null)

export async function openScreen(): Promise<Screen> {
  const model = await startModel(() => text("Done."))
  const box = await makeSandbox({ model, plugin: false, config })
  const probe = await makeProbe(box.root, "probe-a", { tui: setUp })
  const serverOnly = await makeProbe(box.root, "probe-b")
  await box.writeConfig({
    config: { ...config, plugin: [[probe.spec, { side: "server" }], serverOnly.spec] },
    tui: { plugin: [[probe.spec, { side: "tui" }]] },
  })
  async function start() {
    const tui = await startTui(box, { cols: 100, rows: 30 })
    const half = await probe.tui(tui.pid)
    const server = await probe.server(box.repo.dir, tui.pid)
    await tui.waitFor("Model One")
    return { tui, half, server }
  }
  let running = await start()
  return {
    model,
    box,
    probe,
    serverOnly,
    get tui() {
      return running.tui
    },
    get server() {
      return running.server
    },
    get half() {
      return running.half
    },
    async restart() {
      running = await start()
    },
    async dispose() {
      await running.tui.stop()
      await box.dispose()
      await model.dispose()
    },
  }
}
