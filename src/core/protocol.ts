import type { Ask, TaskFacts } from "./board.ts"
import type { CareRequests } from "./care-requests.ts"
import type { CheckResult } from "./checks.ts"
import type { NewTask } from "./draft.ts"
import type { HistoryLine } from "./history.ts"
import type { Options, OptionProblem } from "./options.ts"
import type { Refusal } from "./rules.ts"
import type { ReviewRequests } from "./review-requests.ts"
import type { StatRow } from "./stats.ts"
import type { HelperRole, MergeStrategy, ModelRef, Status } from "./task.ts"

/**
 * What the two halves say to each other. The lobby is one name for all; after `hello` a board speaks on the channel of
 * its repository. Every request has an id, is sent again once without an answer, and is answered once for that id.
 */
export const PROTOCOL_VERSION = 1
export const LOBBY = `opencode-kagan/${PROTOCOL_VERSION}`

export function channelName(repo: string): string {
  return `${LOBBY}/${repo}`
}

/** Why a request was not carried out, with words for the person. */
export type RequestFailure =
  | { readonly kind: "refused"; readonly refusal: Refusal; readonly text: string }
  | { readonly kind: "failed"; readonly text: string }
  | { readonly kind: "unanswered"; readonly text: string }

export type MoveReply = { readonly verdict: "accepted" | "queued"; readonly text: string }
export type Done = { readonly text: string }

export type DraftReply = {
  readonly id: string
  /** In one line; of several tasks, all their titles. */
  readonly title: string
  /** Of its one task; empty when it has several. */
  readonly description: string
  /** As they were asked for. */
  readonly tasks: readonly NewTask[]
  /** Why it is not a task (yet). */
  readonly problem: string
}

export type TaskTemplate = {
  /** Its file's name, without the ending. */
  readonly name: string
  readonly title: string
  readonly description: string
  /** Why it cannot be used. */
  readonly problem?: string
}

export type CreatedTask = { readonly sessionID: string; readonly taskNumber: number }

export type DecisionAnswer = {
  readonly decision: number
  readonly kind: "approved" | "overridden"
  readonly text?: string
}

/** Each request by its name: what is asked, and what is answered. */
export type Requests = BoardRequests & ReviewRequests & CareRequests

/** About the board and its cards. */
type BoardRequests = {
  /** Asked in the lobby: which repository is this directory's, and are we of one version? */
  hello: {
    request: { readonly directory: string; readonly version: string }
    reply: {
      readonly repo: string
      readonly root: string
      readonly version: string
      readonly options: Options
      readonly problems: readonly OptionProblem[]
      /** Set when the board can only look: why. */
      readonly readOnly?: string
    }
  }
  /** Everything that is known now: asked once after hello. */
  "board.facts": {
    request: Record<never, never>
    reply: { readonly facts: readonly TaskFacts[]; readonly drafts: readonly DraftReply[] }
  }
  /** For the create dialog. */
  "base.list": {
    request: Record<never, never>
    reply: {
      readonly branches: readonly string[]
      readonly proposed: string
      readonly dirty: readonly string[]
      readonly dirtyCount: number
    }
  }
  /** The person's own beginnings of tasks: `.kagan/templates/*.md` of the main checkout. */
  "template.list": {
    request: Record<never, never>
    reply: {
      readonly folder: string
      readonly templates: readonly TaskTemplate[]
      /** Why there are none. */
      readonly problem?: string
    }
  }
  /** A text as a file, for the person's own editor; `text.close` answers what stands in it then, and takes it away. */
  "text.open": {
    request: { readonly text: string }
    reply: { readonly id: string; readonly folder: string; readonly path: string }
  }
  "text.close": { request: { readonly id: string }; reply: { readonly text: string } }
  "task.create": {
    request: Omit<NewTask, "after"> & {
      /** Chosen by the board: the same id twice creates one task. */
      readonly draftID: string
      /** Start it as soon as it may; `waiver`: without intake, for this reason. */
      readonly start?: { readonly waiver: string }
    }
    reply: { readonly sessionID: string; readonly taskNumber: number; readonly text: string }
  }
  /**
   * Several tasks at once, all or none, in this order; `after` of a task names earlier ones by position. When one of
   * them fails, nothing of any is left, the failure names it and why, and all are kept as one draft under `draftID`.
   * `start`: all of them; those that wait for others are queued.
   */
  "tasks.create": {
    request: {
      readonly draftID: string
      readonly tasks: readonly NewTask[]
      readonly start?: { readonly waiver: string }
    }
    reply: { readonly tasks: readonly CreatedTask[]; readonly text: string }
  }
  /** Tries again to create what is kept under this id, as it was asked for. */
  "draft.retry": {
    request: { readonly draftID: string }
    reply: { readonly tasks: readonly CreatedTask[]; readonly text: string }
  }
  /** How judging goes, from all histories. `left`: older tasks that are not in it. */
  "board.stats": {
    request: Record<never, never>
    reply: { readonly rows: readonly StatRow[]; readonly tasks: number; readonly left: number }
  }
  /**
   * Writes down everything that was judged of a task, as Markdown and as JSON, secrets masked. `path`: the person's own
   * place; without one it stands beside the task's files.
   */
  "task.record": {
    request: { readonly sessionID: string; readonly path?: string }
    reply: { readonly markdown: string; readonly json: string; readonly text: string }
  }
  "draft.discard": { request: { readonly draftID: string }; reply: Done }
  /** What is absent stays; `null` and what is empty take it away. */
  "task.edit": {
    request: {
      readonly sessionID: string
      readonly title?: string
      readonly description?: string
      readonly model?: ModelRef | null
      readonly agent?: string
      readonly scope?: string
      readonly dependsOn?: readonly number[]
    }
    reply: Done
  }
  /** `asIs`: a running turn is stopped first. */
  "task.move": {
    request: { readonly sessionID: string; readonly to: Status; readonly asIs?: boolean }
    reply: MoveReply
  }
  "task.reorder": { request: { readonly sessionID: string; readonly order: number }; reply: Done }
  "intake.answer": { request: { readonly sessionID: string; readonly answers: readonly DecisionAnswer[] }; reply: Done }
  /** The instruction that the agent gets, in the person's words in place of the intake's. */
  "intake.instruct": { request: { readonly sessionID: string; readonly instruction: string }; reply: Done }
  /**
   * Accepts the intake's proposal to split the task: its parts are created as it says, all or none, and take the task's
   * place on the board, which is archived. `start`: they start in order, as far as they may.
   */
  "intake.split": {
    request: { readonly sessionID: string; readonly start?: boolean }
    reply: { readonly tasks: readonly CreatedTask[]; readonly text: string }
  }
  "intake.waive": { request: { readonly sessionID: string; readonly reason: string }; reply: Done }
  "helper.retry": {
    request: { readonly sessionID: string; readonly role: HelperRole; readonly remark?: string }
    reply: Done
  }
  /** What the setup commands wrote when they ran last, and the one that runs now. */
  "setup.output": {
    request: { readonly sessionID: string }
    reply: {
      readonly results: readonly CheckResult[]
      readonly running?: { readonly name: string; readonly command: string; readonly output: string }
    }
  }
  /** Goes on with a worktree whose setup failed. */
  "setup.waive": { request: { readonly sessionID: string; readonly reason: string }; reply: Done }
  /** The whole description; the metadata holds only the beginning of a long one. */
  "task.description": { request: { readonly sessionID: string }; reply: { readonly description: string } }
  /** What happened to a task and why, the newest first; `before` is the `earlier` of the page that is known. */
  "task.history": {
    request: { readonly sessionID: string; readonly before?: number }
    reply: { readonly lines: readonly HistoryLine[]; readonly earlier: number; readonly unreadable: number }
  }
  /** Where an approval would land now; `target`: the local branch that the person chose. */
  "merge.preview": {
    request: { readonly sessionID: string; readonly target?: string }
    reply: {
      readonly snapshot: string
      /** Absent: the base is gone, or a remote branch that no local one follows; it is one of `branches` then. */
      readonly target?: string
      /** Where the branch it was to go into is gone: that, in words. */
      readonly gone?: string
      readonly branches: readonly string[]
      /** What the target is at: `expected` of an approval. */
      readonly tip: string
      /** Commits of the target that the snapshot does not have. */
      readonly behind: number
      readonly conflicts: readonly string[]
    }
  }
  /**
   * Brings the branch that it will be merged into, into the task's own; a conflict goes back to its agent. `base`: the
   * branch that takes the place of a base that is gone, from then on.
   */
  "task.update": { request: { readonly sessionID: string; readonly base?: string }; reply: Done }
  "task.approve": {
    request: {
      readonly sessionID: string
      readonly snapshot: string
      /** What the target was at when the person looked; another commit is not merged into. */
      readonly expected?: string
      readonly target?: string
      readonly strategy?: MergeStrategy
      readonly message?: string
      readonly waiver?: string
    }
    reply: { readonly commit: string; readonly target: string; readonly text: string }
  }
  "task.leave": { request: { readonly sessionID: string; readonly reason: string }; reply: Done }
  "task.tell": { request: { readonly sessionID: string; readonly text: string }; reply: Done }
  "task.stop": { request: { readonly sessionID: string }; reply: Done }
  "task.resume": { request: { readonly sessionID: string }; reply: Done }
  "task.archive": { request: { readonly sessionID: string; readonly archived: boolean }; reply: Done }
  /** What deleting a task for good would lose, in words; empty: nothing. */
  "purge.preview": { request: { readonly sessionID: string }; reply: { readonly lost: string } }
  /**
   * Deletes a task in the trash for good: worktree, branch, snapshots and conversation. `lost` is what the person was
   * shown; where it would be something else now, nothing is deleted.
   */
  "task.purge": { request: { readonly sessionID: string; readonly lost: string }; reply: Done }
  "task.trash": { request: { readonly sessionID: string; readonly trashed: boolean }; reply: Done }
  /** A new session in the same worktree for a card whose session is gone, from its record. */
  "task.restore": {
    request: { readonly sessionID: string }
    reply: { readonly sessionID: string; readonly taskNumber: number; readonly text: string }
  }
  /** Takes a card whose session is gone off the board; worktree and branch stay. */
  "task.discard": { request: { readonly sessionID: string }; reply: Done }
  "ask.permission": {
    request: {
      readonly sessionID: string
      readonly ask: Pick<Ask, "id" | "directory">
      readonly reply: "once" | "always" | "reject"
      readonly message?: string
    }
    reply: Done
  }
  "ask.question": {
    request: {
      readonly sessionID: string
      readonly ask: Pick<Ask, "id" | "directory">
      readonly answers?: readonly (readonly string[])[]
    }
    reply: Done
  }
}

/** Answered by the part of the server half that looks after Kagan itself, not by those who look after tasks. */
export type ServiceRequest = Extract<keyof Requests, `settings.${string}` | `doctor.${string}` | `update.${string}`>
export type RequestType = keyof Requests
export type RequestOf<T extends RequestType> = Requests[T]["request"]
export type ReplyOf<T extends RequestType> = Requests[T]["reply"]

export type NoticeLevel = "info" | "success" | "warning" | "error"

/** What the server half tells without being asked. */
export type Push =
  | { readonly type: "facts"; readonly facts: TaskFacts }
  | { readonly type: "drafts"; readonly drafts: readonly DraftReply[] }
  /** Another window changed these sessions, which no host event tells: boards read them again. */
  | { readonly type: "changed"; readonly sessionIDs: readonly string[] }
  | {
      readonly type: "notice"
      readonly level: NoticeLevel
      readonly text: string
      readonly taskNumber?: number
      readonly key?: string
    }
  | { readonly type: "options"; readonly options: Options; readonly problems: readonly OptionProblem[] }

export type Wire =
  | {
      readonly kagan: "request"
      readonly id: string
      readonly type: RequestType
      readonly body: unknown
      readonly directory?: string
    }
  | { readonly kagan: "reply"; readonly id: string; readonly ok: true; readonly value: unknown }
  | { readonly kagan: "reply"; readonly id: string; readonly ok: false; readonly error: RequestFailure }
  | { readonly kagan: "push"; readonly push: Push }
  /** Sent in the lobby by a server half that has just come up: boards say hello again. */
  | { readonly kagan: "up"; readonly directory: string; readonly version: string }
  /** Sent by the board when it opens or closes: the server half knows whether anyone looks. In the lobby: there is one. */
  | { readonly kagan: "board"; readonly open: boolean; readonly directory: string }
