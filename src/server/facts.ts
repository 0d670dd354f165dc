import type { Activity, Ask, TaskFacts, TurnEnd } from "../core/board.ts"
import { readKagan } from "../core/codec.ts"
import type { HelperFacts, LookFacts } from "../core/decide.ts"
import { workingSession, type Claim, type HelperPointer, type HelperRole, type Task } from "../core/task.ts"
import { contextMark, readTail, type Tail } from "../core/turn.ts"
import type {
  Host,
  MessageWithParts,
  PermissionRequest,
  QuestionRequest,
  Session,
  SessionStatus,
} from "../shared/host.ts"

/*
 * What is true of a task now: asked of the host in the directory of the session, of the worktree on disk, and of the
 * leases. Nothing here changes anything, and a question without an answer is "unknown", never "idle".
 */

export type FactSources = {
  readonly host: Host
  /** The sessions below a task at any depth, the task's own and its workers' included. */
  family(sessionID: string): readonly string[]
  worktreeState(task: Task): Promise<TaskFacts["worktree"]>
  /** Who else runs a turn of this session, when somebody does. */
  elsewhere(sessionID: string): Promise<string | undefined>
  claimAlive(claim: Claim | undefined): boolean
  now(): number
}

export type Gathered = {
  readonly shown: TaskFacts
  readonly look: Omit<LookFacts, "mayStart" | "occupied" | "mergeClaimAlive">
}

export async function gatherFacts(
  sources: FactSources,
  task: Task,
  read: { readonly unreadable: readonly string[]; readonly readOnly: boolean; readonly session: Session },
): Promise<Gathered> {
  const { host } = sources
  const { meta } = task
  const working = workingSession(meta)
  const intake = meta.intake?.state === "running" ? meta.intake : undefined
  const validator = meta.review?.validator?.state === "running" ? meta.review.validator : undefined
  const worktree = await sources.worktreeState(task)
  const [statuses, transcript, asks, elsewhere] = await Promise.all([
    worktree === "present" ? host.statuses(meta.worktree) : undefined,
    host.messages(working, 30),
    worktree === "present" ? pendingAsks(host, meta.worktree) : undefined,
    sources.elsewhere(working),
  ])
  const status = statuses === undefined ? {} : statuses.ok ? statuses.value : undefined
  const activity = activityOf(status, working, read.session)
  const messages = transcript.ok ? transcript.value : []
  const live = activity.kind === "busy" || activity.kind === "retry" || elsewhere !== undefined
  const tail = readTail(messages, { live })
  const end = endOf(tail, messages)
  const [intakeFacts, validatorFacts] = await Promise.all([
    intake && helperFacts(host, "intake", intake, status),
    validator && helperFacts(host, "validator", validator, status),
  ])
  const running = intakeFacts ?? validatorFacts
  const family = new Set(sources.family(meta.sessionID))
  const busy = (sessionID: string) => status?.[sessionID] !== undefined
  const intentMessage = meta.run?.intent?.messageID
  const intentStored = await storedMessage(host, working, intentMessage, transcript.ok ? messages : undefined)
  const shown: TaskFacts = {
    sessionID: meta.sessionID,
    source: "session",
    activity,
    ...(end ? { end } : {}),
    // An ask of a session that does not run is stale: the host keeps it after an abort.
    asks: (asks ?? []).filter((ask) => family.has(ask.sessionID) && busy(ask.sessionID)),
    worktree,
    ...(elsewhere ? { elsewhere } : {}),
    ...(running ? { helper: running.activity } : {}),
    unreadable: read.unreadable,
    readOnly: read.readOnly,
    ...(activity.kind === "busy" ? { lastSign: lastSign(messages), doing: doingNow(messages) } : {}),
  }
  return {
    shown,
    look: {
      source: "session",
      activity,
      ...(end ? { end } : {}),
      worktree,
      ...(elsewhere ? { elsewhere } : {}),
      readOnly: read.readOnly,
      now: sources.now(),
      ...(intentStored === undefined ? {} : { intentStored }),
      endAfterIntent: endsAfter(messages, tail, intentMessage),
      helpers: {
        ...(intakeFacts ? { intake: intakeFacts } : {}),
        ...(validatorFacts ? { validator: validatorFacts } : {}),
      },
      claimAlive: sources.claimAlive(
        meta.intake?.state === "claimed" ? meta.intake.claim : meta.review?.validator?.claim,
      ),
    },
  }
}

function activityOf(
  statuses: Readonly<Record<string, SessionStatus>> | undefined,
  sessionID: string,
  session?: Session,
): Activity {
  if (session?.revert) return { kind: "blocked", text: "an undo is open in its session" }
  if (!statuses) return { kind: "unknown" }
  const status = statuses[sessionID]
  if (!status || status.type === "idle") return { kind: "idle" }
  if (status.type === "retry")
    return { kind: "retry", until: status.next, attempt: status.attempt, text: status.message }
  return { kind: "busy" }
}

function endOf(tail: Tail, messages: readonly MessageWithParts[]): TurnEnd | undefined {
  switch (tail.kind) {
    case "empty":
      return undefined
    case "open":
      return { kind: "open" }
    case "finished":
      return { kind: "finished", messageID: tail.messageID, at: tail.at, text: lastText(messages) }
    case "interrupted":
      return { kind: "interrupted", reason: tail.reason, at: tail.at }
    case "failed":
      return { kind: "failed", errorClass: tail.class, text: tail.text, at: tail.at }
  }
}

/** Whether the message that ended the turn stands after the intent's message: an older "finished" is not this turn's. */
function endsAfter(messages: readonly MessageWithParts[], tail: Tail, intentMessage: string | undefined): boolean {
  if (tail.kind !== "finished" || !intentMessage) return false
  const intent = messages.findIndex((message) => message.info.id === intentMessage)
  const end = messages.findIndex((message) => message.info.id === tail.messageID)
  // The intent scrolled out of the window that was read: everything in it is later.
  return intent === -1 ? messages.length >= 30 : end > intent
}

async function storedMessage(
  host: Host,
  sessionID: string,
  id: string | undefined,
  messages: readonly MessageWithParts[] | undefined,
): Promise<boolean | undefined> {
  if (!id) return undefined
  if (messages?.some((message) => message.info.id === id)) return true
  const answer = await host.message(sessionID, id)
  return answer.ok ? answer.value !== undefined : undefined
}

async function helperFacts(
  host: Host,
  role: HelperRole,
  pointer: HelperPointer,
  statuses: Readonly<Record<string, SessionStatus>> | undefined,
): Promise<HelperFacts | undefined> {
  if (!pointer.sessionID) return undefined
  const session = await host.session(pointer.sessionID)
  if (!session.ok) {
    if (session.error.kind !== "not_found") return undefined
    return { exists: false, activity: { kind: "gone" }, reported: false, prompted: false }
  }
  const decoded = readKagan(pointer.sessionID, session.value.metadata)
  const reported =
    role === "intake"
      ? decoded.kind === "intake" && decoded.meta.assessment !== undefined
      : decoded.kind === "validator" && decoded.meta.findings !== undefined
  const activity = activityOf(statuses, pointer.sessionID)
  const transcript = await host.messages(pointer.sessionID, 30)
  if (!transcript.ok) return undefined
  const messages = transcript.value
  const live = activity.kind === "busy" || activity.kind === "retry"
  const end = endOf(readTail(messages, { live }), messages)
  return {
    exists: true,
    activity,
    ...(end ? { end } : {}),
    reported,
    prompted: messages.some((message) => message.info.role === "user" && !contextMark(message)),
  }
}

async function pendingAsks(host: Host, directory: string): Promise<Ask[]> {
  const [permissions, questions] = await Promise.all([host.permissions(directory), host.questions(directory)])
  return [
    ...(permissions.ok ? permissions.value.map((ask) => permissionAsk(ask, directory)) : []),
    ...(questions.ok ? questions.value.map((ask) => questionAsk(ask, directory)) : []),
  ]
}

function permissionAsk(ask: PermissionRequest, directory: string): Ask {
  const what = typeof ask.metadata.command === "string" ? ask.metadata.command : ask.patterns.join(", ")
  return {
    kind: "permission",
    id: ask.id,
    sessionID: ask.sessionID,
    directory,
    permission: ask.permission,
    patterns: ask.patterns,
    text: `${ask.permission}: ${what}`.slice(0, 2_000),
  }
}

function questionAsk(ask: QuestionRequest, directory: string): Ask {
  return {
    kind: "question",
    id: ask.id,
    sessionID: ask.sessionID,
    directory,
    questions: ask.questions.map((question) => ({
      question: question.question,
      options: question.options.map((option) => option.label),
      multiple: question.multiple ?? false,
      custom: question.custom ?? true,
    })),
  }
}

function lastText(messages: readonly MessageWithParts[]): string {
  for (const message of messages.toReversed()) {
    if (message.info.role !== "assistant") continue
    const text = message.parts.findLast((part) => part.type === "text")
    if (text?.type === "text") return text.text.slice(0, 500)
  }
  return ""
}

function lastSign(messages: readonly MessageWithParts[]): number | undefined {
  const last = messages.at(-1)
  if (!last) return undefined
  let at = last.info.time.created
  for (const part of last.parts) {
    if (part.type === "tool" && "time" in part.state) {
      at = Math.max(at, part.state.time.start, "end" in part.state.time ? part.state.time.end : 0)
    }
  }
  return at
}

function doingNow(messages: readonly MessageWithParts[]): string | undefined {
  const tool = messages.at(-1)?.parts.findLast((part) => part.type === "tool")
  if (tool?.type !== "tool") return undefined
  const input = tool.state.input
  const subject = [input.filePath, input.command, input.pattern, input.description].find(
    (value) => typeof value === "string",
  )
  return `${tool.tool}${typeof subject === "string" ? ` ${subject}` : ""}`.slice(0, 200)
}
