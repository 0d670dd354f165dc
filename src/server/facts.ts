import type { Activity, TaskFacts, TurnEnd } from "../core/board.ts"
import { readKagan } from "../core/codec.ts"
import { isLost, type HelperFacts, type LookFacts } from "../core/decide.ts"
import { columnOf, workingSession, type Claim, type HelperPointer, type HelperRole, type Task } from "../core/task.ts"
import { contextMark, isUnheard, type Tail } from "../core/turn.ts"
import type { Host, MessageWithParts, Session, SessionStatus } from "../shared/host.ts"
import type { Asked, SessionState } from "../shared/session-state.ts"
import { pendingAsks } from "./asks.ts"
import { FINDINGS_TOOL, INTAKE_TOOL } from "./config.ts"
import type { Family } from "./family.ts"
import type { LeftCommand } from "./left-commands.ts"
import type { WorktreeSeen } from "./trees.ts"

/*
 * What is true of a task now: asked of the host in the directory of the session, of the worktree on disk, and of the
 * leases. Nothing here changes anything, and a question without an answer is "unknown", never "idle".
 */

/** As many messages as the tracker reads first. */
const WINDOW = 30

export type FactSources = {
  readonly host: Host
  readonly state: SessionState
  /** Told of each session that the host says is at rest. */
  rested(sessionID: string): void
  readonly family: Family
  leftCommands(folder: string): Promise<readonly LeftCommand[]>
  /** Whether a claim's holder may still be at work on this task and part of it. */
  claimAlive(claim: Claim | undefined, sessionID: string, part: HelperRole | "worker" | "setup" | "checks"): boolean
  /** A word of the person waits to be stored in this session. */
  isUntold(sessionID: string): boolean
  /** What the host last said went wrong in a session. */
  errorOf(sessionID: string): { readonly text: string; readonly at: number } | undefined
  /** When a session last gave a sign of life through an event. */
  signOf(sessionID: string): number | undefined
  now(): number
}

export type Gathered = {
  readonly shown: TaskFacts
  readonly look: Omit<LookFacts, "mayStart" | "occupied" | "mergeClaimAlive">
}

/** `up`: the worktree's instance runs with us in it, so that it may be asked. */
export async function gatherFacts(
  sources: FactSources,
  task: Task,
  read: { readonly unreadable: readonly string[]; readonly readOnly: boolean },
  worktree: WorktreeSeen,
  up: boolean,
): Promise<Gathered> {
  const { host, family } = sources
  const { meta } = task
  const working = workingSession(meta)
  const validator = meta.review?.validator
  const there = worktree.state === "present" && up
  const [asked, statuses, pending, intakeFacts, validatorFacts] = await Promise.all([
    there ? askIn(sources, working, meta.worktree) : notAsked(worktree.state, up),
    there ? host.statuses(meta.worktree) : undefined,
    there ? pendingAsks(host, meta.worktree) : undefined,
    there && meta.intake?.state === "running" ? helperFacts(sources, "intake", meta.intake, meta.worktree) : undefined,
    there && validator?.state === "running" ? helperFacts(sources, "validator", validator, meta.worktree) : undefined,
  ])
  const running = statuses?.ok ? statuses.value : {}
  // An ask of a session that does not run is stale: the host keeps it after an abort.
  const asks = (pending ?? []).filter((ask) => running[ask.sessionID] !== undefined)
  await family.learn([...Object.keys(running), ...asks.map((ask) => ask.sessionID)])
  const members = new Set(family.members(meta.sessionID))
  const { messages } = asked
  const activity = withDescendants(activityOf(asked.asked, running[working]), running, members, family)
  const end = asked.asked.kind === "quiet" ? endOf(asked.asked.tail, messages) : undefined
  const elsewhere = asked.asked.kind === "elsewhere" ? asked.asked.text : undefined
  const helper = intakeFacts ?? validatorFacts
  const helperID = intakeFacts ? meta.intake?.sessionID : validatorFacts ? validator?.sessionID : undefined
  const intent = meta.run?.intent
  const intentStored = there ? await storedMessage(host, working, intent?.messageID, messages) : undefined
  const died = end?.kind === "interrupted" && end.reason === "host_died"
  const unjudged = columnOf(meta) === "review" && meta.review?.snapshot?.generation !== meta.generation
  const left =
    there && (died || unjudged || meta.setup?.state === "running" || meta.review?.checks?.state === "running")
      ? await sources.leftCommands(meta.worktree)
      : []
  const mine = asks.filter((ask) => members.has(ask.sessionID))
  const sign = latest(lastSign(messages), ...[...members].map((id) => sources.signOf(id)))
  const helperSign = helperID ? latest(sources.signOf(helperID), helper?.sign) : undefined
  const shown: TaskFacts = {
    sessionID: meta.sessionID,
    source: "session",
    activity,
    ...(end ? { end } : {}),
    asks: mine.filter((ask) => !family.isHelper(ask.sessionID)),
    worktree: worktree.state,
    ...(worktree.branch ? { branch: worktree.branch } : {}),
    ...(worktree.renamed ? { renamed: worktree.renamed } : {}),
    ...(worktree.problem ? { problem: worktree.problem } : {}),
    ...(elsewhere ? { elsewhere } : {}),
    ...(helper ? { helper: helper.facts.activity } : {}),
    ...(helperSign === undefined ? {} : { helperSign }),
    unreadable: read.unreadable,
    readOnly: read.readOnly,
    ...(activity.kind === "busy" ? { ...(sign === undefined ? {} : { lastSign: sign }), ...doing(messages) } : {}),
    ...(left.length > 0
      ? {
          command: left
            .map((one) => one.text)
            .join(", ")
            .slice(0, 300),
        }
      : {}),
    ...(intent && intentStored === false && isLost(intent.sent, sources.now())
      ? { lost: sources.errorOf(working)?.text ?? "OpenCode took it and never stored it" }
      : {}),
  }
  const ended =
    asked.asked.kind === "quiet" && asked.asked.tail.kind === "finished" ? asked.asked.tail.messageID : undefined
  const askedAt = whenAsked(messages, intent)
  return {
    shown,
    look: {
      source: "session",
      activity,
      ...(end ? { end } : {}),
      worktree: worktree.state,
      ...(elsewhere ? { elsewhere } : {}),
      readOnly: read.readOnly,
      now: sources.now(),
      ...(intentStored === undefined ? {} : { intentStored }),
      endAfterIntent: endsAfter(messages, ended, intent?.messageID),
      unheard: ended !== undefined && (isUnheard(messages, ended) || sources.isUntold(working)),
      ...(askedAt === undefined ? {} : { askedAt }),
      command: left.length > 0,
      helperAsks: mine.filter((ask) => family.isHelper(ask.sessionID)),
      helpers: {
        ...(intakeFacts ? { intake: intakeFacts.facts } : {}),
        ...(validatorFacts ? { validator: validatorFacts.facts } : {}),
      },
      claimAlive:
        meta.intake?.state === "claimed"
          ? sources.claimAlive(meta.intake.claim, meta.sessionID, "intake")
          : sources.claimAlive(validator?.claim, meta.sessionID, "validator"),
      checksClaimAlive: sources.claimAlive(meta.review?.checks?.claim, meta.sessionID, "checks"),
      setupClaimAlive: sources.claimAlive(meta.setup?.claim, meta.sessionID, "setup"),
      workerClaimAlive: sources.claimAlive(meta.run?.claim, meta.sessionID, "worker"),
    },
  }
}

type AskedIn = { readonly asked: Asked; readonly messages: readonly MessageWithParts[] }

/** Without the folder nothing can be known; without an instance nothing of it runs here. */
function notAsked(worktree: TaskFacts["worktree"], up: boolean): AskedIn {
  if (worktree === "present" && !up) return { asked: AT_REST, messages: [] }
  return { asked: { kind: "unknown", text: "its folder is not there" }, messages: [] }
}

const AT_REST = {
  kind: "quiet",
  tail: { kind: "empty" },
  transcript: { messages: [], whole: false },
} as unknown as Extract<Asked, { kind: "quiet" }>

/** What the one tracker says, and the transcript: its own where it read one. */
async function askIn(sources: FactSources, sessionID: string, directory: string): Promise<AskedIn> {
  const { state, host } = sources
  state.track(sessionID, directory)
  const asked = await state.ask(sessionID, directory)
  if (asked.kind === "quiet") {
    if (asked.tail.kind !== "open") sources.rested(sessionID)
    return { asked, messages: asked.transcript.messages }
  }
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

/** Work goes on as long as anything below the session does, helpers aside. */
function withDescendants(
  activity: Activity,
  running: Readonly<Record<string, SessionStatus>>,
  members: ReadonlySet<string>,
  family: Family,
): Activity {
  if (activity.kind !== "idle") return activity
  const busy = Object.keys(running).some((id) => members.has(id) && !family.isHelper(id))
  return busy ? { kind: "busy" } : activity
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
      return { kind: "interrupted", reason: tail.reason, at: tail.at, messageID: tail.messageID }
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

/** When the last turn was asked for: ours when it was decided, the person's when it arrived. */
function whenAsked(
  messages: readonly MessageWithParts[],
  intent: { readonly messageID: string; readonly at: number } | undefined,
): number | undefined {
  const last = messages.findLast((message) => message.info.role === "user" && !contextMark(message))
  if (!last) return undefined
  return last.info.id === intent?.messageID ? intent.at : last.info.time.created
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
  sources: FactSources,
  role: HelperRole,
  pointer: HelperPointer,
  directory: string,
): Promise<{ readonly facts: HelperFacts; readonly sign?: number } | undefined> {
  if (!pointer.sessionID) return undefined
  const { host, errorOf } = sources
  const { asked, messages } = await askIn(sources, pointer.sessionID, directory)
  if (asked.kind === "gone")
    return { facts: { exists: false, activity: { kind: "gone" }, reported: false, prompted: false, refused: [] } }
  if (asked.kind === "unknown") return undefined
  // The session was read before its transcript: what ended in between may have reported in between.
  const again =
    asked.kind === "quiet" && !hasReported(role, asked.session) ? await host.session(asked.session.id) : undefined
  if (again && !again.ok) return undefined
  const reported = hasReported(role, again?.value ?? asked.session)
  const end = asked.kind === "quiet" ? endOf(asked.tail, messages) : undefined
  const statuses = asked.kind === "busy" ? await host.statuses(directory) : undefined
  const sign = lastSign(messages)
  const error = errorOf(pointer.sessionID)?.text
  return {
    facts: {
      exists: true,
      activity: activityOf(asked, statuses?.ok ? statuses.value[pointer.sessionID] : undefined),
      ...(end ? { end } : {}),
      reported,
      prompted: messages.some((message) => message.info.role === "user" && !contextMark(message)),
      refused: refusedReports(role, messages),
      ...(error ? { error } : {}),
    },
    ...(sign === undefined ? {} : { sign }),
  }
}

/** What its calls of its own tool were answered. One that has reported is not asked. */
function refusedReports(role: HelperRole, messages: readonly MessageWithParts[]): readonly string[] {
  const tool = role === "intake" ? INTAKE_TOOL : FINDINGS_TOOL
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part) => {
      if (part.type !== "tool" || part.tool !== tool) return []
      if (part.state.status === "completed") return [part.state.output]
      return part.state.status === "error" ? [part.state.error] : []
    }),
  )
}

function hasReported(role: HelperRole, session: Session): boolean {
  const decoded = readKagan(session.id, session.metadata)
  return role === "intake"
    ? decoded.kind === "intake" && decoded.meta.assessment !== undefined
    : decoded.kind === "validator" && decoded.meta.findings !== undefined
}

function lastText(messages: readonly MessageWithParts[]): string {
  for (const message of messages.toReversed()) {
    if (message.info.role !== "assistant") continue
    const text = message.parts.findLast((part) => part.type === "text")
    if (text?.type === "text") return text.text.slice(0, 500)
  }
  return ""
}

function latest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length > 0 ? Math.max(...known) : undefined
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

function doing(messages: readonly MessageWithParts[]): { readonly doing?: string } {
  const tool = messages.at(-1)?.parts.findLast((part) => part.type === "tool")
  if (tool?.type !== "tool") return {}
  const input = tool.state.input
  const subject = [input.filePath, input.command, input.pattern, input.description].find(
    (value) => typeof value === "string",
  )
  return { doing: `${tool.tool}${typeof subject === "string" ? ` ${subject}` : ""}`.slice(0, 200) }
}
