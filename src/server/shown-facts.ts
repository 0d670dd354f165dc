import type { TaskFacts } from "../core/board.ts"
import type { Live } from "../core/live.ts"
import type { Result } from "../core/result.ts"

/** What the boards were told of each task, and what stands in the way of it; told again only when it changed. */
export interface ShownFacts {
  publish(facts: TaskFacts): void
  /** Says or takes back what stands in the way, by where it comes from. */
  problem(sessionID: string, from: "action" | "instance", text: string | undefined): void
  /** The result of an action: a failure stands on the card until the next success. */
  outcome(sessionID: string, result: Result<unknown, { readonly text: string }>): void
  /** What a command of the task says now; `undefined`: none runs. */
  saying(sessionID: string, live: Live | undefined): void
  all(): readonly TaskFacts[]
  of(sessionID: string): TaskFacts | undefined
  drop(sessionID: string): void
}

export function makeShownFacts(tell: (facts: TaskFacts) => void): ShownFacts {
  type Entry = {
    facts?: TaskFacts
    told?: TaskFacts
    json?: string
    action?: string
    instance?: string
    live?: Live | undefined
  }
  const entries = new Map<string, Entry>()

  function entryOf(sessionID: string): Entry {
    const found = entries.get(sessionID) ?? {}
    entries.set(sessionID, found)
    return found
  }

  function retell(entry: Entry) {
    if (!entry.facts) return
    const text = entry.action ?? entry.instance ?? entry.facts.problem
    const told: TaskFacts = {
      ...entry.facts,
      ...(text ? { problem: text } : {}),
      ...(entry.live ? { live: entry.live } : {}),
    }
    const json = JSON.stringify(told)
    if (json === entry.json) return
    entry.told = told
    entry.json = json
    tell(told)
  }

  function problem(sessionID: string, from: "action" | "instance", text: string | undefined) {
    const entry = entryOf(sessionID)
    if (entry[from] === text) return
    if (text === undefined) delete entry[from]
    else entry[from] = text
    retell(entry)
  }

  return {
    publish(facts) {
      const entry = entryOf(facts.sessionID)
      entry.facts = facts
      retell(entry)
    },
    problem,
    outcome: (sessionID, result) => problem(sessionID, "action", result.ok ? undefined : result.error.text),
    saying(sessionID, live) {
      const entry = entryOf(sessionID)
      entry.live = live
      retell(entry)
    },
    all: () => [...entries.values()].flatMap((entry) => entry.told ?? []),
    of: (sessionID) => entries.get(sessionID)?.told,
    drop: (sessionID) => void entries.delete(sessionID),
  }
}
