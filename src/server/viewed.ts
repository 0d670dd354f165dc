import { z } from "zod"
import { err, ok, type Result } from "../core/result.ts"
import type { Project } from "./project.ts"

/*
 * What the person has looked at: a mark holds for the content that a file had then, so it is gone by itself when the
 * file changes. A file beside the task, since it says nothing about the task.
 */

type Failed = { readonly text: string }

export type Viewed = {
  /** By path, the content that was marked. */
  readonly files: Readonly<Record<string, string>>
  /** The snapshot that was looked at last, and the one before it. */
  readonly look?: { readonly now: string; readonly before?: string }
}

const shape = z.object({
  files: z.record(z.string(), z.string()),
  look: z.object({ now: z.string(), before: z.string().optional() }).optional(),
})

export async function readViewed(project: Pick<Project, "store">, sessionID: string): Promise<Result<Viewed, Failed>> {
  const path = project.store.paths.session(sessionID).viewed
  const read = await project.store.readJson(path)
  if (!read.ok) return read.error.kind === "missing" ? ok({ files: {} }) : err({ text: read.error.text })
  const parsed = shape.safeParse(read.value)
  // Marks are worth little; those of another shape are made anew.
  return ok(parsed.success ? (parsed.data as Viewed) : { files: {} })
}

/** Sets or takes back the mark of one file. */
export function markViewed(
  project: Pick<Project, "store">,
  sessionID: string,
  file: { readonly path: string; readonly object: string; readonly viewed: boolean },
): Promise<Result<void, Failed>> {
  return change(project, sessionID, (known) => {
    const { [file.path]: _, ...others } = known.files
    return { ...known, files: file.viewed ? { ...others, [file.path]: file.object } : others }
  })
}

/** Notes that the person looks at this snapshot. */
export function noteLook(
  project: Pick<Project, "store">,
  sessionID: string,
  snapshot: string,
): Promise<Result<void, Failed>> {
  return change(project, sessionID, (known) =>
    known.look?.now === snapshot
      ? undefined
      : { ...known, look: { now: snapshot, ...(known.look ? { before: known.look.now } : {}) } },
  )
}

async function change(
  project: Pick<Project, "store">,
  sessionID: string,
  edit: (known: Viewed) => Viewed | undefined,
): Promise<Result<void, Failed>> {
  const changed = await project.store.withLock(async (): Promise<Result<void, Failed>> => {
    const known = await readViewed(project, sessionID)
    if (!known.ok) return known
    const next = edit(known.value)
    return next ? project.store.writeJson(project.store.paths.session(sessionID).viewed, next) : ok()
  })
  return changed.ok ? changed.value : err({ text: changed.error.text })
}
