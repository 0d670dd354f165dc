import { afterEach } from "vitest"
import type { Host, HostDoors, MetadataDoor, Turns } from "../../src/shared/host.ts"

/** All calls of the three doors by one name each. */
type Calls = Omit<Host, "log"> & MetadataDoor & Turns["session"]
export type CallName = keyof Calls

export interface FakeHost extends HostDoors {
  /** Answers every such call from now on. */
  on<K extends CallName>(name: K, answer: Calls[K]): FakeHost
  /** Expects one such call, after those already expected, and answers it; the test fails if it never comes. */
  once<K extends CallName>(name: K, answer: Calls[K]): FakeHost
  /** Every call so far, in order. */
  readonly calls: readonly { readonly name: CallName; readonly args: readonly unknown[] }[]
  /** Arguments of the calls of one name. */
  of<K extends CallName>(name: K): Parameters<Calls[K]>[]
  /** What was written to the host's log, which is always allowed. */
  readonly logs: readonly {
    readonly level: string
    readonly message: string
    readonly extra?: Record<string, unknown>
  }[]
}

const open = new Set<() => string[]>()

// A call that nobody expected fails the test also where the code under test survives the exception.
afterEach(() => {
  const complaints = [...open].flatMap((complain) => complain())
  open.clear()
  if (complaints.length > 0) throw new Error(`fake host: ${complaints.join("; ")}`)
})

/**
 * A host for unit tests that knows nothing: each call must have been announced with `on` or `once`. Anything else throws
 * at once, and fails the test when it ends.
 */
export function fakeHost(): FakeHost {
  const always = new Map<CallName, (...args: never[]) => unknown>()
  const expected: { name: CallName; answer: (...args: never[]) => unknown }[] = []
  const calls: { name: CallName; args: unknown[] }[] = []
  const logs: FakeHost["logs"][number][] = []
  const unexpected: string[] = []
  open.add(() => [...unexpected, ...expected.map(({ name }) => `${name} was expected and never called`)])

  const call =
    (name: CallName) =>
    (...args: unknown[]): unknown => {
      calls.push({ name, args })
      const at = expected.findIndex((one) => one.name === name)
      const answer = at >= 0 ? expected.splice(at, 1)[0]!.answer : always.get(name)
      if (answer) return answer(...(args as never[]))
      const complaint = `unexpected call ${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`
      unexpected.push(complaint)
      throw new Error(complaint)
    }
  // Answers any name: what the doors offer is checked by their types, and a new call is unexpected, not undefined.
  const door = <T>(own: object = {}): T =>
    new Proxy(own, {
      get: (target, name) =>
        name in target || typeof name === "symbol" || name === "then"
          ? Reflect.get(target, name)
          : call(name as CallName),
    }) as T

  const fake: FakeHost = {
    host: door<Host>({
      log: (level: string, message: string, extra?: Record<string, unknown>) =>
        void logs.push({ level, message, ...(extra ? { extra } : {}) }),
    }),
    metadata: door<MetadataDoor>(),
    turns: { session: door<Turns["session"]>() },
    on(name, answer) {
      always.set(name, answer as (...args: never[]) => unknown)
      return fake
    },
    once(name, answer) {
      expected.push({ name, answer: answer as (...args: never[]) => unknown })
      return fake
    },
    calls,
    of: (name) => calls.filter((one) => one.name === name).map((one) => one.args) as never,
    logs,
  }
  return fake
}
