import type { RequestFailure } from "../../core/protocol.ts"
import type { Since } from "../../core/review-requests.ts"
import { ok, type Result } from "../../core/result.ts"
import type { SnapshotRef, TaskMeta } from "../../core/task.ts"
import { failed, refused } from "../moves.ts"
import { done, type Desk, type Handlers } from "../requests.ts"
import { markViewed, noteLook, readViewed } from "../viewed.ts"

/** What the review screen reads: the list at once, then sizes, and each file's lines when it is looked at. */
export function reviewingRequests({
  project,
  supervisor,
}: Desk): Pick<Handlers, "review.files" | "review.sizes" | "review.file" | "review.viewed"> {
  const { tasks } = project
  const { reading } = project.trees

  async function reviewed(
    sessionID: string,
  ): Promise<Result<{ readonly meta: TaskMeta; readonly snapshot: SnapshotRef }, RequestFailure>> {
    const read = await tasks.read(sessionID)
    const meta = read.ok ? read.value.task.meta : supervisor.factsOf(sessionID)?.record?.meta
    if (!meta) return refused({ kind: "gone" })
    const snapshot = meta.review?.snapshot
    return snapshot ? ok({ meta, snapshot }) : refused({ kind: "no_snapshot" })
  }

  return {
    async "review.files"({ sessionID, since }) {
      const found = await reviewed(sessionID)
      if (!found.ok) return found
      const { meta, snapshot } = found.value
      const [viewed, generation] = await Promise.all([
        readViewed(project, sessionID),
        snapshot.generation > 1 ? reading.snapshot(meta.taskNumber, snapshot.generation - 1) : undefined,
      ])
      if (!viewed.ok) return failed(viewed.error.text)
      const { look, files: marks } = viewed.value
      const before = look?.now === snapshot.commit ? look.before : look?.now
      const starts: Record<Since, string | undefined> = { base: snapshot.base, generation, look: before }
      const from = starts[since]
      if (from === undefined) return failed(NOTHING_BEFORE[since])
      const files = await reading.files(from, snapshot.commit)
      if (!files.ok) return failed(files.error.text)
      if (since === "base") {
        const noted = await noteLook(project, sessionID, snapshot.commit)
        if (!noted.ok) project.host.log("warn", `#${meta.taskNumber}: ${noted.error.text}`)
      }
      return ok({
        from,
        to: snapshot.commit,
        files: files.value,
        left: snapshot.nested ?? [],
        viewed: files.value.filter(({ path, object }) => marks[path] === object).map(({ path }) => path),
        since: (["base", "generation", "look"] as const).filter((one) => starts[one] !== undefined),
      })
    },

    async "review.sizes"({ sessionID, from, to }) {
      const found = await reviewed(sessionID)
      if (!found.ok) return found
      const sizes = await reading.sizes(from, to)
      return sizes.ok ? ok({ sizes: [...sizes.value] }) : failed(sizes.error.text)
    },

    async "review.file"({ sessionID, from, to, ...wanted }) {
      const found = await reviewed(sessionID)
      if (!found.ok) return found
      const file = await reading.file(from, to, wanted)
      return file.ok ? file : failed(file.error.text)
    },

    async "review.viewed"({ sessionID, ...file }) {
      const marked = await markViewed(project, sessionID, file)
      return done(marked.ok ? ok("") : failed(marked.error.text))
    },
  }
}

const NOTHING_BEFORE: Readonly<Record<Since, string>> = {
  base: "there is no snapshot to judge",
  generation: "this is the first iteration: there is nothing before it",
  look: "you have not looked at an earlier snapshot",
}
