import { historyPage } from "../../core/history.ts"
import { ok } from "../../core/result.ts"
import type { TaskMeta } from "../../core/task.ts"
import type { Live } from "../../core/live.ts"
import { readChecks } from "../checks.ts"
import { describe } from "../describe.ts"
import { writeRecord } from "../record.ts"
import { boardStatistics } from "../statistics.ts"
import { failed, refused } from "../moves.ts"
import type { Desk, Handlers } from "../requests.ts"
import { readSetup } from "../setup.ts"

/** What a board shows of one card beyond its metadata: nothing is changed here, and a card without a session has it too. */
export function readingRequests({
  project,
  supervisor,
  create,
}: Desk): Pick<
  Handlers,
  "review.checks" | "setup.output" | "task.description" | "task.history" | "board.stats" | "task.record"
> {
  const { tasks, store } = project

  async function known(sessionID: string): Promise<TaskMeta | undefined> {
    const read = await tasks.read(sessionID)
    return read.ok ? read.value.task.meta : supervisor.factsOf(sessionID)?.record?.meta
  }

  /** The command that runs now in this process, and what came of those before it. */
  function runningOf(sessionID: string, what: Live["what"]) {
    const found = project.live.of(sessionID)
    if (found?.what !== what) return {}
    const { name, command, output, before } = found
    return { results: before, running: { name, command, output } }
  }

  return {
    async "review.checks"({ sessionID }) {
      const meta = await known(sessionID)
      if (!meta) return refused({ kind: "gone" })
      const snapshot = meta.review?.snapshot
      if (!snapshot) return refused({ kind: "no_snapshot" })
      const report = await readChecks(project, sessionID, snapshot)
      if (!report.ok) return failed(report.error.text)
      const running = meta.review?.checks?.state === "running" ? runningOf(sessionID, "checks") : undefined
      return ok({ snapshot: snapshot.commit, results: report.value?.results ?? [], ...running })
    },

    async "setup.output"({ sessionID }) {
      const results = await readSetup(project, sessionID)
      if (!results.ok) return failed(results.error.text)
      return ok({ results: results.value, ...runningOf(sessionID, "setup") })
    },

    async "task.history"({ sessionID, before }) {
      const stored = await store.readLines(store.paths.session(sessionID).history)
      if (!stored.ok) return failed(`the history cannot be read: ${stored.error.text}`)
      const { lines, bad } = stored.value
      const page = historyPage(lines, before === undefined ? {} : { before })
      return ok({ ...page, unreadable: page.unreadable + (before === undefined ? bad.length : 0) })
    },

    async "board.stats"() {
      const read = await boardStatistics(project)
      return read.ok ? ok(read.value) : failed(read.error)
    },

    async "task.record"({ sessionID, path }) {
      const read = await tasks.read(sessionID)
      if (!read.ok) return read.error.kind === "gone" ? refused({ kind: "gone" }) : failed(read.error.text)
      return writeRecord({ project, repository: create.repository }, read.value.task, path)
    },

    async "task.description"({ sessionID }) {
      const meta = await known(sessionID)
      return meta ? ok({ description: await describe(project, meta) }) : refused({ kind: "gone" })
    },
  }
}
