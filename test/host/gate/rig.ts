import { join } from "node:path"
import { systemClock } from "../../../src/shared/clock.ts"
import { openHost, type PromptInput } from "../../../src/shared/host.ts"
import { makeInject, type Content } from "../../../src/shared/inject.ts"
import { makeGate, promptAsyncAfterSessionIdle, type GateIntent } from "../../../src/shared/prompt-async-gate.ts"
import { makeSessionState } from "../../../src/shared/session-state.ts"
import { openStore } from "../../../src/shared/store.ts"
import type { InServer } from "../../kit/probe/server.ts"

/**
 * Runs inside the host, in its own thread: gate, injection and state over the real client, fed by the real hooks, as
 * the plugin builds them. `die` kills the process at a named write on the way of a wake.
 */
export const KILL_POINTS = [
  "intent written",
  "lease taken",
  "status asked",
  "context sending",
  "context stored",
  "prompt sending",
  "prompt stored",
  "prompt accepted",
  "turn busy",
] as const
export type KillPoint = (typeof KILL_POINTS)[number]

export interface Rig {
  /** Many wakes in one tick; answers how each ended. */
  wakes(sessionID: string, count: number): Promise<string[]>
  wake(sessionID: string, intent?: GateIntent): Promise<string>
  inject(sessionID: string, text: string): unknown
  /** The next tool call of the session stages the text before it runs, or once it is about to run. */
  injectAtTool(sessionID: string, text: string, when: "before" | "running"): void
  /** Stores the intent on the session and wakes it with one context, as the supervisor does; dies at the point. */
  start(sessionID: string, intent: GateIntent, die?: KillPoint): Promise<string>
  /** What a restarted supervisor does: reads the intent and asks for the wake again. */
  resume(sessionID: string): Promise<string>
  track(sessionID: string, directory: string): void
  waiting(sessionID: string): number
  whenIdle(): Promise<void>
  logs(): readonly unknown[]
}

export function wire(p: InServer): void {
  const { directory } = p.input
  const doors = openHost(p.input, systemClock)
  const store = openStore(join(directory, ".git"), { clock: systemClock })
  const logs: unknown[] = []
  const log = (level: string, message: string, extra: unknown) => void logs.push({ level, message, extra })
  let point: KillPoint | undefined

  /** Ends the process as a crash would, when the test asked for this point. */
  const passing = (name: KillPoint) => {
    if (point === name) process.kill(process.pid, "SIGKILL")
  }
  const host = {
    ...doors.host,
    statuses: async (where: string) => {
      const answer = await doors.host.statuses(where)
      passing("status asked")
      return answer
    },
  }
  const leases = {
    ...store.leases,
    take: async (sessionID: string) => {
      const taken = await store.leases.take(sessionID)
      passing("lease taken")
      return taken
    },
  }
  const turns = {
    session: {
      async prompt(input: PromptInput) {
        const answer = doors.turns.session.prompt(input)
        passing("context sending")
        await answer
        passing("context stored")
        return answer
      },
      async promptAsync(input: PromptInput) {
        const answer = doors.turns.session.promptAsync(input)
        passing("prompt sending")
        await answer
        passing("prompt accepted")
        return answer
      },
    },
  }
  const state = makeSessionState({ host, clock: systemClock, leases })
  const gate = makeGate({ turns, host, state, leases, clock: systemClock, log })
  const inject = makeInject({ gate, state, store, host, clock: systemClock, log })
  const atTool = new Map<string, { text: string; when: "before" | "running" }>()
  let intents = new Set<string>()

  const stage = (sessionID: string, when: "before" | "running") => {
    const wanted = atTool.get(sessionID)
    if (wanted?.when !== when) return
    atTool.delete(sessionID)
    inject.inject(sessionID, { source: "test:tool", kind: "note", text: wanted.text })
  }
  p.on("event", ({ event }) => {
    state.observe(event)
    const { info, status } = event.properties ?? {}
    if (event.type === "message.updated" && intents.has(info?.id)) passing("prompt stored")
    if (event.type === "session.status" && status?.type === "busy") passing("turn busy")
  })
  p.on("chat.message", (input) => inject.admitting(input.sessionID, input.messageID))
  p.on("tool.execute.before", async ({ sessionID, callID }) => {
    stage(sessionID, "before")
    await inject.aroundTool(sessionID, callID)
    stage(sessionID, "running")
  })
  p.on("tool.execute.after", ({ sessionID, callID }) => inject.aroundTool(sessionID, callID))

  const args = (sessionID: string, source: `${string}:${string}`, intent?: GateIntent) => ({
    client: turns,
    sessionID,
    source,
    directory,
    input: { sessionID, parts: [{ type: "text" as const, text: "Please go on." }] },
    ...(intent ? { intent } : {}),
  })
  const contexts: Content[] = [{ source: "test:handoff", kind: "handoff", text: "What was agreed." }]
  const withContext = async (sessionID: string, intent: GateIntent) =>
    (await inject.prompt({ ...args(sessionID, "start:test", intent), intent }, contexts)).status

  const rig: Rig = {
    wakes: async (sessionID, count) =>
      (
        await Promise.all(
          Array.from({ length: count }, (_, n) => promptAsyncAfterSessionIdle(args(sessionID, `test:${n}`))),
        )
      ).map((result) => result.status),
    wake: async (sessionID, intent) => (await promptAsyncAfterSessionIdle(args(sessionID, "test:wake", intent))).status,
    inject: (sessionID, text) => inject.inject(sessionID, { source: "test:inject", kind: "note", text }),
    injectAtTool: (sessionID, text, when) => void atTool.set(sessionID, { text, when }),
    async start(sessionID, intent, die) {
      point = die
      intents = new Set([intent.messageID])
      await doors.metadata.write(sessionID, { intent })
      passing("intent written")
      return withContext(sessionID, intent)
    },
    async resume(sessionID) {
      const session = await doors.host.session(sessionID)
      if (!session.ok) return session.error.text
      return withContext(sessionID, session.value.metadata?.intent as GateIntent)
    },
    track: (sessionID, where) => state.track(sessionID, where),
    waiting: (sessionID) => inject.waiting(sessionID),
    whenIdle: () => inject.whenIdle(),
    logs: () => logs,
  }
  p.state.rig = rig
}
