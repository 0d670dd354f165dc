import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, vi } from "vitest"
import { runState, type RunState } from "../../src/core/board.ts"
import type { ChecksSummary, TaskMeta } from "../../src/core/task.ts"
import type { Board } from "../kit/board.ts"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import type { SeenTasks } from "../kit/tasks.ts"
import { openWindow } from "../kit/window.ts"

export const patience = { timeout: 90_000, interval: 50 }
/** Waits in the worktree until a test lets it go on. */
const HOLD = "until test -e out/go; do sleep 0.05; done"
export const SETUP = "mkdir -p out; echo preparing; while test -e hold-setup; do sleep 0.05; done; echo done > .setup"
export const CHECKS = [
  { name: "fine", command: "echo all good; test -e .env" },
  { name: "broken", command: "echo 'a.ts: no such thing'; exit 3", paths: ["task-*.txt"] },
  { name: "elsewhere", command: "touch out/never", paths: ["docs/"] },
  { name: "rewrites", command: "test -e out/rewrite && echo x >> seed.txt || true" },
  { name: "slow", command: `test ! -e out/hold || { printf 'step 1\\rstep 2'; ${HOLD}; }` },
]

export interface Rig {
  readonly model: Model
  readonly box: Sandbox
  readonly board: Board
  readonly seen: SeenTasks
  /** A card in Review whose agent ran `command` in its worktree. */
  reviewed(title: string, command: string): Promise<TaskMeta>
  /** One that is held in its last check, with what that says on the card. */
  held(title: string): Promise<TaskMeta>
  checked(sessionID: string): Promise<ChecksSummary>
  state(sessionID: string): Promise<RunState>
  /** Whether the check that is held still runs. */
  isHeld(meta: TaskMeta): boolean
  dispose(): Promise<void>
}

/** The real host with setup commands, files to bring along and checks configured; an agent does what its task says. */
export async function commandsRig(files: Readonly<Record<string, string>> = {}): Promise<Rig> {
  const model = await startModel((request, asked) => {
    const all = request.messages.map(({ text: said }) => said).join("\n")
    const marked = request.kind === "work" && request.toolResults.length === 0 ? /do:(.*)$/m.exec(all)?.[1] : undefined
    if (marked) return toolCalls({ name: "bash", args: { command: marked, description: "As asked" } })
    return request.kind === "work" ? text("Done.") : script(request, asked)
  })
  const script = defaultKaganScript({})
  const config = { permission: { bash: "allow" } }
  const box = await makeSandbox({
    plugin: false,
    model,
    where: "project",
    config,
    files: {
      ".gitignore": "out/\n.env\n.setup\n*.local\n",
      ".worktreeinclude": "notes.local\n",
      "seed.txt": "1\n",
      ...files,
    },
  })
  await writeFile(join(box.repo.dir, ".env"), "SECRET=1\n")
  await writeFile(join(box.repo.dir, "notes.local"), "mine\n")
  const probe = await makeProbe(box.root, "probe-board")
  const options = {
    intake: { enabled: false },
    worktree: { copy: [".env"], setup: [SETUP] },
    checks: CHECKS,
    inProgressLimit: 5,
  }
  await box.writeConfig({ config, plugin: [[pluginPath(), options], probe.spec] as never })
  const { host, board, seen } = await openWindow(box, probe)

  const rig: Rig = {
    model,
    box,
    board,
    seen,
    async reviewed(title, command) {
      const { sessionID } = await board.get("task.create", {
        draftID: `d-${title.replace(/\W/g, "-")}`,
        title,
        description: `do:${command}`,
        start: { waiver: "a test of its checks" },
      })
      return seen.until(sessionID, "in Review", (meta) => meta.lastGatedStatus === "review")
    },
    async held(title) {
      const meta = await rig.reviewed(title, "touch out/hold task-x.txt")
      await vi.waitFor(
        async () => expect((await rig.state(meta.sessionID)).text).toBe("checks running 4/4 · step 2"),
        patience,
      )
      return meta
    },
    async checked(sessionID) {
      const meta = await seen.until(sessionID, "checked", (now) => now.review?.checks?.state === "done")
      return meta.review!.checks!
    },
    async state(sessionID) {
      const { facts } = await board.get("board.facts", {})
      const own = facts.find((one) => one.sessionID === sessionID)
      return runState({ title: "", meta: await seen.read(sessionID) }, own, Date.now())
    },
    isHeld(meta) {
      const found = Bun.spawnSync(["pgrep", "-f", "until test -e out/go"]).stdout.toString().trim().split("\n")
      return found.some((pid) => pid !== "" && folderOf(pid) === meta.worktree)
    },
    async dispose() {
      await host.stop()
      await box.dispose()
      await model.dispose()
    },
  }
  return rig
}

function folderOf(pid: string): string {
  return Bun.spawnSync(["readlink", `/proc/${pid}/cwd`])
    .stdout.toString()
    .trim()
}
