import type { Activity, Ask, TaskFacts, TurnEnd } from "../core/board.ts"
import { readKagan } from "../core/codec.ts"
import type { HelperFacts, LookFacts } from "../core/decide.ts"
import { workingSession, type Claim, type HelperPointer, type HelperRole, type Task } from "../core/task.ts"
import { contextMark, type Tail } from "../core/turn.ts"
import type { Host, MessageWithParts, PermissionRequest, QuestionRequest, SessionStatus } from "../shared/host.ts"
import type { Asked, SessionState } from "../shared/session-state.ts"

/*
 * What is true of a task now: asked of the host in the directory of the session, of the worktree on disk, and of the
 * leases. Nothing here changes anything, and a question without an answer is "unknown", never "idle".
 */

/** As many messages as the tracker reads first. */
const WINDOW = 30

export type FactSources = {
  readonly host: Host
  readonly state: SessionState
  /** The sessions below a task at any depth, the task's own and its workers' included. */
  family(sessionID: string): readonly string[]
  worktreeState(task: Task): Promise<TaskFacts["worktree"]>
  /** Whether a claim's holder may still be at work. */
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
  read: { readonly unreadable: readonly string[]; readonly readOnly: boolean },
): Promise<Gathered> {
  const { host, state } = sources
  const { meta } = task
  const working = workingSession(meta)
  const validator = meta.review?.validator
  const worktree = await sources.worktreeState(task)
  const there = worktree === "present"
  const [asked, statuses, asks, intakeFacts, validatorFacts] = await Promise.all([
    askIn(state, working, there ? meta.worktree : undefined, host),
    there ? host.statuses(meta.worktree) : undefined,
    there ? pendingAsks(host, meta.worktree) : undefined,
    meta.intake?.state === "running" ? helperFacts(sources, "intake", meta.intake, meta.worktree) : undefined,
    validator?.state === "running" ? helperFacts(sources, "validator", validator, meta.worktree) : undefined,
  ])
  const running = statuses?.ok ? statuses.value : {}
  const activity = activityOf(asked.asked, running[working])
  const { messages } = asked
  const end = asked.asked.kind === "quiet" ? endOf(asked.asked.tail, messages) : undefined
  const elsewhere = asked.asked.kind === "elsewhere" ? asked.asked.text : undefined
  const helper = intakeFacts ?? validatorFacts
  const family = new Set(sources.family(meta.sessionID))
  const intentMessage = meta.run?.intent?.messageID
  const intentStored = await storedMessage(host, working, intentMessage, messages)
  const shown: TaskFacts = {
    sessionID: meta.sessionID,
    source: "session",
    activity,
    ...(end ? { end } : {}),
    // An ask of a session that does not run is stale: the host keeps it after an abort.
    asks: (asks ?? []).filter((ask) => family.has(ask.sessionID) && running[ask.sessionID] !== undefined),
    worktree,
    ...(elsewhere ? { elsewhere } : {}),
    ...(helper ? { helper: helper.activity } : {}),
    unreadable: read.unreadable,
    readOnly: read.readOnly,
    ...(activity.kind === "busy" ? { lastSign: lastSign(messages), doing: doingNow(messages) } : {}),
  }
  const ended =
    asked.asked.kind === "quiet" && asked.asked.tail.kind === "finished" ? asked.asked.tail.messageID : undefined
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
      endAfterIntent: endsAfter(messages, ended, intentMessage),
      helpers: {
        ...(intakeFacts ? { intake: intakeFacts } : {}),
        ...(validatorFacts ? { validator: validatorFacts } : {}),
      },
      claimAlive: sources.claimAlive(meta.intake?.state === "claimed" ? meta.intake.claim : validator?.claim),
    },
  }
}

/** What the one tracker says, and the transcript: its own where it read one. */
async function askIn(
  state: SessionState,
  sessionID: string,
  directory: string | undefined,
  host: Host,
): Promise<{ readonly asked: Asked; readonly messages: readonly MessageWithParts[] }> {
  if (directory === undefined) return { asked: { kind: "unknown", text: "its folder is not there" }, messages: [] }
  state.track(sessionID, directory)
  const asked = await state.ask(sessionID, directory)
  if (asked.kind === "quiet") return { asked, messages: asked.transcript.messages }
  if (asked.kind !== "busy" && asked.kind !== "elsewhere") return { asked, messages: [] }
  const transcript = await host.messages(sessionID, WINDOW)
  return { asked, messages: transcript.ok ? transcript.value : [] }
}

function activityOf(asked: Asked, status: SessionStatus | undefined): Activity {
  switch (asked.kind) {
    case "gone":
      return { kind: "gone" }
    case "unknown":
      return { kind: "unknown" }
    case "blocked":
      return {
        kind: "blocked",
        text: asked.reason === "reverted" ? "an undo is open in its session" : "its session is archived",
      }
    case "busy":
    case "elsewhere":
      return status?.type === "retry"
        ? { kind: "retry", until: status.next, attempt: status.attempt, text: status.message }
        : { kind: "busy" }
    case "quiet":
      // Asked and not yet begun: the status is silent for the first seconds of a cold start.
      return asked.tail.kind === "open" ? { kind: "busy" } : { kind: "idle" }
  }
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
function endsAfter(
  messages: readonly MessageWithParts[],
  ended: string | undefined,
  intentMessage: string | undefined,
): boolean {
  if (ended === undefined || !intentMessage) return false
  const intent = messages.findIndex((message) => message.info.id === intentMessage)
  const end = messages.findIndex((message) => message.info.id === ended)
  // The intent scrolled out of the window that was read: everything in it is later.
  return intent === -1 ? messages.length >= WINDOW : end > intent
}

async function storedMessage(
  host: Host,
  sessionID: string,
  id: string | undefined,
  messages: readonly MessageWithParts[],
): Promise<boolean | undefined> {
  if (!id) return undefined
  if (messages.some((message) => message.info.id === id)) return true
  const answer = await host.message(sessionID, id)
  return answer.ok ? answer.value !== undefined : undefined
}

async function helperFacts(
  { host, state }: FactSources,
  role: HelperRole,
  pointer: HelperPointer,
  directory: string,
): Promise<HelperFacts | undefined> {
  if (!pointer.sessionID) return undefined
  const { asked, messages } = await askIn(state, pointer.sessionID, directory, host)
  if (asked.kind === "gone") return { exists: false, activity: { kind: "gone" }, reported: false, prompted: false }
  if (asked.kind === "unknown") return undefined
  const decoded = readKagan(pointer.sessionID, asked.session.metadata)
  const reported =
    role === "intake"
      ? decoded.kind === "intake" && decoded.meta.assessment !== undefined
      : decoded.kind === "validator" && decoded.meta.findings !== undefined
  const end = asked.kind === "quiet" ? endOf(asked.tail, messages) : undefined
  return {
    exists: true,
    activity: activityOf(asked, undefined),
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
