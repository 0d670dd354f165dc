import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { contextMark, type ContextMark, type TailMessage } from "../../src/core/turn.ts"
import { makeInject, type Inject } from "../../src/shared/inject.ts"
import { openStore, type Store } from "../../src/shared/store.ts"
import { manualClock, type ManualClock } from "../kit/clock.ts"
import { DIR, makeWorld, type World } from "./gate-world.ts"

export interface InjectWorld extends World {
  readonly inject: Inject
  readonly store: Store
  /** The same repository after the process has died: what was in memory is gone, sessions and files are there. */
  restart(): InjectWorld
  /** The process dies: none of its timers fires any more, and nothing that is on its way comes back to it. */
  die(): void
  tell(id: string, text: string, source?: string): ReturnType<Inject["inject"]>
  /** The contexts in a session's transcript, in order. */
  contexts(id: string): string[]
  marks(id: string): ContextMark[]
  journal(id: string): any[]
  /** A tool call of a running turn: the hook before it, and the hook after it. */
  tool(id: string, callID?: string, during?: () => void): Promise<void>
}

/** A world with injection on real files in a temporary folder. */
export function makeInjectWorld(
  options: Parameters<typeof makeWorld>[0] & { readonly dir?: string } = {},
): InjectWorld {
  const dir = options.dir ?? temporaryDir()
  let alive = true
  const real = options.clock ?? manualClock()
  const clock: ManualClock = { ...real, setTimer: (ms, run) => real.setTimer(ms, () => alive && run()) }
  const base = makeWorld({ ...options, clock })
  const store = openStore(dir, { clock: base.clock })
  const inject = makeInject({
    gate: base.gate,
    state: base.state,
    store,
    host: base.host as never,
    clock: base.clock,
    log: (level, message, extra = {}) => void base.logs.push({ level, message, extra }),
  })
  const world: InjectWorld = Object.assign(base, {
    inject,
    store,
    restart: () =>
      makeInjectWorld({ ...options, clock: real, dir, startedAt: base.clock.now() + 1, sessions: base.sessions }),
    die: () => void (alive = false),
    tell(id: string, text: string, source = "test:one") {
      base.session(id)
      base.state.track(id, DIR)
      return inject.inject(id, { source, kind: "note", text })
    },
    contexts: (id: string) =>
      (base.session(id).messages as unknown as TailMessage[])
        .filter((message) => contextMark(message))
        .map((message) => message.parts[0]!.text!),
    marks: (id: string) =>
      (base.session(id).messages as unknown as TailMessage[]).flatMap((message) => contextMark(message) ?? []),
    journal(id: string) {
      const read = store.readLinesNow(store.paths.session(id).outbox)
      return read.ok ? [...read.value.lines] : []
    },
    async tool(id: string, callID = "c1", during?: () => void) {
      await within(base, inject.aroundTool(id, callID))
      during?.()
      await within(base, inject.aroundTool(id, callID))
    },
  })
  return world
}

/** Lets a hook's promises run; nothing in it needs the clock. */
async function within(world: World, work: Promise<void>) {
  await world.settle()
  await world.settle()
  await work
}

function temporaryDir(): string {
  const dir = mkdtempSync(join(tmpdir(), "kagan-inject-"))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}
