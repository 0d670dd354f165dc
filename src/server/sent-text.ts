import { ok, type Result } from "../core/result.ts"
import type { TaskMeta } from "../core/task.ts"
import type { Project } from "./project.ts"

/* Where what the person sent back stands until its iteration begins; what does not begin with it drops it. */

type Stored = Pick<Project, "store">

/** Where the text that the iteration `generation` begins with stands, as the person sent it. */
export function sendBackPath({ store }: Stored, sessionID: string, generation: number): string {
  return store.paths.session(sessionID).sendBack(generation)
}

/** Where the person's own words for the iteration `generation` stand, for the reviewer. */
export function notePath({ store }: Stored, sessionID: string, generation: number): string {
  return `${store.paths.session(sessionID).dir}/note-${generation}.md`
}

/** Drops what was stored for the next iteration: its send back was taken back, or this one was never sent. */
export async function dropSentText(
  project: Stored,
  { sessionID, generation }: TaskMeta,
): Promise<Result<void, { readonly text: string }>> {
  for (const pathOf of [sendBackPath, notePath]) {
    const removed = await project.store.remove(pathOf(project, sessionID, generation + 1))
    if (!removed.ok) return removed
  }
  return ok()
}
