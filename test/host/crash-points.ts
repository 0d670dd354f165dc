import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "vitest"
import type { TaskMeta } from "../../src/core/task.ts"
import { countingGit, killAtWrite, type CountingGit } from "../kit/crash.ts"
import type { HostServer } from "../kit/host.ts"
import { startModel, type Model, type RequestKind } from "../kit/model.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { openWindow, type Window } from "../kit/window.ts"

/** Where OpenCode is killed: at a model request, when a record says something for the first time, or at a git call. */
export type Trap =
  | { readonly request: RequestKind; readonly nth: number }
  | { readonly record: RegExp }
  | { readonly git: string; readonly when: "before" | "after" }

/** From intake to triage, in order. */
export const POINTS: Readonly<Record<string, Trap>> = {
  "intake claimed": { record: /"intake": \{[^}]*"state": "claimed"/ },
  "intake made, not asked": { record: /"intake": \{[^}]*"state": "running"/ },
  "intake asked": { request: "intake", nth: 1 },
  "intake reported": { request: "intake", nth: 2 },
  "intake counted": { record: /"intake": \{[^}]*"state": "done"/ },
  "start accepted": { record: /"lastGatedStatus": "in_progress"/ },
  "prompt taken": { record: /"sent": \{/ },
  "prompt delivered": { record: /"deliveredAt"/ },
  "agent asked": { request: "work", nth: 1 },
  "agent wrote a file": { request: "work", nth: 2 },
  "entered Review": { record: /"lastGatedStatus": "review"/ },
  "snapshot, before its tree": { git: "unpack-objects", when: "before" },
  "snapshot, after its commit": { git: "commit-tree", when: "after" },
  "snapshot, after its ref": { git: "update-ref", when: "after" },
  "snapshot stored": { record: /"snapshot": \{/ },
  "reviewer claimed": { record: /"validator": \{[^}]*"state": "claimed"/ },
  "reviewer made, not asked": { record: /"validator": \{[^}]*"state": "running"/ },
  "reviewer asked": { request: "validator", nth: 1 },
  "reviewer reported": { request: "validator", nth: 2 },
  "findings counted": { record: /"validator": \{[^}]*"state": "done"/ },
}

/** What a card cost that was killed once on its way. */
export type Toll = {
  readonly intakes: number
  readonly validators: number
  readonly wakes: number
  readonly requests: Readonly<Record<"intake" | "work" | "validator", number>>
}

/** A card's way from its creation to the end of its review, on the real host, which is killed at one point of it. */
export async function livedThrough(trap: Trap): Promise<Toll> {
  const model = await startModel()
  const box = await makeSandbox({ plugin: false, model, where: "project" })
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [[pluginPath(), { resume: "auto" }], probe.spec] as never })
  const git = await countingGit(box)
  let window = await openWindow(box, probe)
  const first = window.host
  try {
    const sprung = await arm(trap, { model, box, git, window })
    let id: string | undefined
    const end = Date.now() + 400_000
    let meta: TaskMeta | undefined
    while (meta?.review?.validator?.state !== "done" || !(await sprung.fired())) {
      if (Date.now() > end) throw new Error(`it does not go on: ${JSON.stringify(meta, undefined, 1)}`)
      if (await isDead(window.host)) {
        await window.host.kill9()
        window = await openWindow(box, probe)
      }
      try {
        id ??= await create(window)
        meta = await window.seen.read(id)
        await bringOn(window, meta)
      } catch (cause) {
        // What was asked of a host that was killed meanwhile has no answer; with a living one it is a failure.
        await Bun.sleep(200)
        if (!(await isDead(window.host))) throw cause
      }
      await Bun.sleep(150)
    }
    // What was seen may be the last thing that the killed process did: then the next one has to say so as well.
    await first.exited
    if (window.host === first) window = await openWindow(box, probe)
    meta = await window.seen.until(meta.sessionID, "reviewed", (now) => now.review?.validator?.state === "done")
    await sprung.close()
    return await toll(window, model, meta.sessionID)
  } finally {
    await window.host.stop()
    await box.dispose()
    await model.dispose()
  }
}

export async function isDead(host: HostServer): Promise<boolean> {
  return (await Promise.race([host.exited, Promise.resolve(undefined)])) !== undefined
}

/** The card exists once its session does; an answer that was lost with its host is looked for. */
async function create({ board, seen }: Window): Promise<string> {
  const found = (await seen.all())[0]
  if (found) return found.sessionID
  const made = await board.get("task.create", {
    draftID: "draft-1",
    title: "Greet the reader",
    description: "Politely.",
  })
  return made.sessionID
}

/** What the person does, once it can be done. */
async function bringOn({ board }: Window, meta: TaskMeta): Promise<void> {
  const { sessionID, intake } = meta
  if (meta.lastGatedStatus !== "backlog" || intake?.state !== "done") return
  if (intake.answered < intake.required)
    await board.get("intake.answer", { sessionID, answers: [{ decision: 0, kind: "approved" }] })
  await board.get("task.move", { sessionID, to: "in_progress" })
}

async function arm(
  trap: Trap,
  parts: { readonly model: Model; readonly box: Sandbox; readonly git: CountingGit; readonly window: Window },
): Promise<{ fired(): Promise<boolean>; close(): Promise<void> }> {
  const { pid } = parts.window.host
  if ("request" in trap) {
    let fired = false
    parts.model.at(
      trap.nth,
      () => {
        fired = true
        process.kill(pid, "SIGKILL")
      },
      trap.request,
    )
    return { fired: async () => fired, close: async () => {} }
  }
  if ("git" in trap) {
    await parts.git.arm({ at: 1, pid, match: trap.git, when: trap.when })
    return { fired: () => parts.git.fired(), close: () => parts.git.disarm() }
  }
  const folder = join(parts.box.repo.dir, ".git/kagan/tasks")
  await mkdir(folder, { recursive: true })
  const written = await killAtWrite({ folder, match: /^\d+\.json$/, text: trap.record, at: 1, pid })
  return { fired: async () => written.fired(), close: () => written.close() }
}

async function toll({ host }: Window, model: Model, sessionID: string): Promise<Toll> {
  const children = (await host.client.session.children({ sessionID })).data!
  const ofRole = (role: string) =>
    children.filter((child) => (child.metadata?.kagan as { role?: string } | undefined)?.role === role).length
  const messages = (await host.client.session.messages({ sessionID })).data!
  const wakes = messages.filter(
    ({ info, parts }) => info.role === "user" && parts.some((part) => part.type === "text" && !part.synthetic),
  )
  return {
    intakes: ofRole("intake"),
    validators: ofRole("validator"),
    wakes: wakes.length,
    requests: { intake: model.count("intake"), work: model.count("work"), validator: model.count("validator") },
  }
}

/** One helper per role, and a second wake only where the first one's turn died. */
export function judgeToll(name: string, toll: Toll): void {
  expect({ name, intakes: toll.intakes, validators: toll.validators }).toEqual({ name, intakes: 1, validators: 1 })
  const died = name === "prompt delivered" || name === "prompt taken" || name.startsWith("agent ")
  expect(toll.wakes, `wakes after a kill at "${name}"`).toBeLessThanOrEqual(died ? 2 : 1)
}
