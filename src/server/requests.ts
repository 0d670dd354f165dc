import type {
  Done,
  MoveReply,
  ReplyOf,
  RequestFailure,
  RequestOf,
  RequestType,
  ServiceRequest,
} from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import type { Verdict } from "../core/rules.ts"
import { STATUS_TITLE, type Status, type Task, type TaskMeta } from "../core/task.ts"
import type { CreateParts } from "../shared/create-task.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import { agentRequests } from "./requests/agent.ts"
import { creationRequests } from "./requests/creation.ts"
import { judgingRequests } from "./requests/judging.ts"
import { keepingRequests } from "./requests/keeping.ts"
import { readingRequests } from "./requests/reading.ts"
import { reviewingRequests } from "./requests/reviewing.ts"
import type { Supervisor } from "./supervisor.ts"

/** Answers a board. Each handler asks the rules with what is true now, acts, and has the task looked at. */
export type Handlers = {
  readonly [T in Exclude<RequestType, "hello" | ServiceRequest>]: (
    body: RequestOf<T>,
  ) => Promise<Result<ReplyOf<T>, RequestFailure>>
}

/** What every group of handlers works with. */
export type Desk = {
  readonly project: Project
  readonly supervisor: Supervisor
  readonly create: CreateParts
  /** Reads the task, runs the action on it, and has it looked at afterwards, whatever came of it. */
  on<T>(
    sessionID: string,
    action: (task: Task) => Promise<Result<T, RequestFailure>>,
  ): Promise<Result<T, RequestFailure>>
  /** Changes fields of the task and says so in its history. */
  change(
    sessionID: string,
    text: string,
    edit: (meta: TaskMeta) => TaskMeta | undefined,
  ): Promise<Result<Done, RequestFailure>>
}

export function makeHandlers(parts: Pick<Desk, "project" | "supervisor" | "create">): Handlers {
  const { project, supervisor } = parts
  const { tasks } = project

  const desk: Desk = {
    ...parts,
    async on(sessionID, action) {
      const read = await tasks.read(sessionID)
      if (!read.ok) return read.error.kind === "gone" ? refused({ kind: "gone" }) : failed(read.error.text)
      if (read.value.readOnly) return refused({ kind: "read_only" })
      const result = await action(read.value.task)
      void supervisor.look(sessionID)
      return result
    },
    change(sessionID, text, edit) {
      return desk.on(sessionID, async () => {
        const updated = await tasks.update(sessionID, edit)
        if (!updated.ok) return failed(updated.error.text)
        if (updated.value.changed) await project.remember(sessionID, { kind: "edit", text })
        return ok({ text })
      })
    },
  }
  const agent = agentRequests(desk)
  return {
    ...creationRequests(desk),
    ...keepingRequests(desk),
    ...agent,
    ...judgingRequests(desk, agent["task.tell"]),
    ...readingRequests(desk),
    ...reviewingRequests(desk),
  }
}

export function moveReply(verdict: Verdict, to: Status): MoveReply {
  if (verdict.kind === "queued") return { verdict: "queued", text: verdict.text }
  return { verdict: "accepted", text: `moved to ${STATUS_TITLE[to]}` }
}

export function done(result: Result<string, RequestFailure>): Result<Done, RequestFailure> {
  return result.ok ? ok({ text: result.value }) : result
}
