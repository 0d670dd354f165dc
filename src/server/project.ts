import type { HistoryEntry } from "../core/history.ts"
import type { Push } from "../core/protocol.ts"
import type { Options } from "../core/options.ts"
import type { Result } from "../core/result.ts"
import type { ModelRef, TaskMeta, WakeIntent } from "../core/task.ts"
import type { Clock } from "../shared/clock.ts"
import type { Host } from "../shared/host.ts"
import type { Content } from "../shared/inject.ts"
import type { Store } from "../shared/store.ts"
import type { Tasks } from "../shared/tasks.ts"
import type { WakeRoute } from "../shared/wake-sources.ts"
import type { LiveOutput } from "./live.ts"
import type { Trees } from "./trees.ts"

export type WakeRequest = {
  readonly sessionID: string
  readonly directory: string
  /** `route:subject`, one of the table of wake sources. */
  readonly source: `${WakeRoute}:${string}`
  readonly intent: Pick<WakeIntent, "id" | "messageID" | "partID">
  readonly text: string
  /** Stand before the prompt in the transcript; none of them is left when the prompt is refused. */
  readonly contexts: readonly Content[]
  readonly agent?: string
  readonly model?: ModelRef
}

/** `sent`: admitted by the host; whether it is stored is asked of the transcript. `held`: somebody else has the session. */
export type WakeResult =
  | { readonly kind: "sent" }
  | { readonly kind: "held"; readonly text: string }
  | { readonly kind: "refused"; readonly text: string }

/** Everything that the parts of the server half share for one repository. */
export type Project = {
  readonly root: string
  readonly repo: string
  readonly trees: Trees
  readonly host: Host
  readonly store: Store
  readonly tasks: Tasks
  readonly clock: Clock
  options(): Options
  /** A new id that no other process makes. */
  seed(): string
  /** The instance of a worktree is up with our half in it and the main checkout's configuration in force. */
  ensureInstance(directory: string): Promise<Result<void, { readonly text: string }>>
  /** Whether that instance is up with our half in it, so that asking it boots nothing. */
  isServed(directory: string): boolean
  /** Whether the worktree has OpenCode files that the host would obey, were it to open the folder by itself. */
  bringsConfig(directory: string): Promise<boolean>
  /**
   * Before the host is asked about a session of this worktree by its id, which makes it open the folder: an instance is
   * there by the recipe, if the branch brought OpenCode files.
   */
  protect(directory: string): Promise<Result<void, { readonly text: string }>>
  wake(request: WakeRequest): Promise<WakeResult>
  /** Adds context to a session without a turn; accepted at once and for good, delivered at its next safe moment. */
  tell(sessionID: string, directory: string, context: Content): Result<void, { readonly text: string }>
  /** A word of the person waits for its safe moment. */
  isUntold(sessionID: string): boolean
  push(push: Push): void
  /** What commands of tasks say while they run. */
  readonly live: LiveOutput
  /** What changed outside of a task's worktree since its work started: the person's checkout, settings and hooks. */
  outside(meta: TaskMeta): Promise<readonly string[]>
  /** Never fails: a line that cannot be written is logged. */
  remember(sessionID: string, entry: HistoryEntry): Promise<void>
}
