import { join } from "node:path"
import { draftTitle, readDraft, type Draft } from "../core/draft.ts"
import { err, ok, type Result } from "../core/result.ts"
import type { Clock } from "./clock.ts"
import type { Host } from "./host.ts"
import type { Store } from "./store.ts"
import type { Tasks } from "./tasks.ts"

/** What was asked for and is no task yet, as files beside the repository. */

export type CreateFailure =
  | { readonly kind: "refused" | "failed"; readonly text: string }
  /** Something else was made under the same id. */
  | { readonly kind: "made_already"; readonly taskNumber: number; readonly text: string }

type Kept = { readonly store: Store }

/** Keeps what was asked for, before anything is tried. */
export async function keepDraft({ store }: Kept, draft: Draft): Promise<Result<void, CreateFailure>> {
  const written = await store.writeJson(store.paths.draft(draft.id), draft)
  return written.ok ? ok() : err({ kind: "failed", text: `what you typed could not be kept: ${written.error.text}` })
}

/** All drafts, oldest first; one that cannot be read is named, never removed. */
export async function listDrafts(parts: Kept & { readonly host: Host }): Promise<readonly Draft[]> {
  const { store, host } = parts
  const names = await store.names(store.paths.drafts)
  if (!names.ok) return []
  const drafts: Draft[] = []
  for (const name of names.value.filter((candidate) => candidate.endsWith(".json"))) {
    const read = await store.readJson(join(store.paths.drafts, name))
    const draft = read.ok ? readDraft(read.value) : undefined
    if (draft) drafts.push(draft)
    else host.log("error", `the draft ${name} cannot be read: ${read.ok ? "another shape" : read.error.text}`)
  }
  return drafts.toSorted((a, b) => a.at - b.at)
}

export async function draftOf({ store }: Kept, id: string): Promise<Draft | undefined> {
  const read = await store.readJson(store.paths.draft(id))
  return read.ok ? readDraft(read.value) : undefined
}

export async function dropDraft({ store }: Kept, id: string): Promise<Result<void, CreateFailure>> {
  const removed = await store.remove(store.paths.draft(id))
  return removed.ok ? ok() : err({ kind: "failed", text: removed.error.text })
}

/**
 * Keeps the draft with our claim on it, unless another living process has it. What is made of it already stays known;
 * a claim of ours that nothing here is at any more is like that of a dead process.
 */
export async function claimDraft(
  parts: Kept & { readonly tasks: Tasks; readonly clock: Clock },
  typed: Draft,
): Promise<Result<Draft, CreateFailure>> {
  const { store, tasks, clock } = parts
  const held = await store.withLock(async (): Promise<Result<Draft, CreateFailure>> => {
    const before = await draftOf(parts, typed.id)
    const mine = before?.claim?.pid === tasks.self.pid && before.claim.start === tasks.self.start
    if (before?.claim && !mine && store.alive(before.claim) !== false)
      return err({ kind: "refused", text: "another window is creating it" })
    const made = before?.made ?? typed.made
    if (made && made.length !== typed.tasks.length)
      return err({ kind: "refused", text: `"${draftTitle(before ?? typed)}" is half made: r goes on with it` })
    const claim = { ...tasks.self, at: clock.now() }
    const claimed: Draft = { ...typed, ...(made ? { made } : {}), problem: undefined, claim }
    const kept = await keepDraft(parts, claimed)
    return kept.ok ? ok(claimed) : kept
  })
  if (held.ok) return held.value
  const text = held.error.text
  // New, it is nobody else's: it is kept without the lock, and tried again from the board.
  if ((await draftOf(parts, typed.id)) === undefined) {
    const kept = await keepDraft(parts, { ...typed, problem: text })
    if (!kept.ok) return kept
  }
  return err({ kind: "failed", text })
}
