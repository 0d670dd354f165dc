import { batch, createMemo, createRoot, createSignal, mapArray, untrack, type Accessor } from "solid-js"
import { createStore, produce, reconcile, unwrap } from "solid-js/store"
import { runState, type RunState, type TaskFacts } from "../../core/board.ts"
import { readKagan } from "../../core/codec.ts"
import type { DraftReply } from "../../core/protocol.ts"
import {
  columnOf,
  STATUSES,
  type IntakeMeta,
  type Status,
  type Task,
  type ValidatorMeta,
  type WorkerMeta,
} from "../../core/task.ts"
import type { Session } from "../client.ts"

/** A task as the board holds it: what its session says, nothing derived. */
export type TaskEntry = Task & {
  readonly unreadable: readonly string[]
  readonly readOnly: boolean
  readonly cost: number
  readonly directory: string
}

export type HelperEntry =
  | { readonly kind: "intake"; readonly meta: IntakeMeta; readonly cost: number }
  | { readonly kind: "validator"; readonly meta: ValidatorMeta; readonly cost: number }
  | { readonly kind: "worker"; readonly meta: WorkerMeta; readonly cost: number }

export type Progress = { readonly done: number; readonly total: number }

type State = {
  phase: "loading" | "ready" | "failed"
  problem: string
  repo: string
  tasks: Record<string, TaskEntry>
  helpers: Record<string, HelperEntry>
  facts: Record<string, TaskFacts>
  progress: Record<string, Progress>
  drafts: DraftReply[]
  /** What was asked of the server half and has not been answered, in words, by session. */
  pending: Record<string, string>
}

/** Where a card stands. */
export type Place = {
  readonly shelf: "active" | "archived" | "trashed"
  readonly column: Status
  readonly order: number
  readonly number: number
}

/** What a view needs of one task; every member is live. */
export type Card = {
  readonly id: string
  readonly entry: TaskEntry
  readonly place: Accessor<Place>
  readonly run: Accessor<RunState>
  /** Spent on the task, its helpers and its worker. */
  readonly cost: Accessor<number>
  readonly facts: Accessor<TaskFacts | undefined>
  readonly column: Accessor<Status>
  /** What was asked of the server half for it and has not been answered. */
  readonly pending: Accessor<string | undefined>
  readonly progress: Accessor<Progress | undefined>
  readonly intake: Accessor<IntakeMeta | undefined>
  readonly validator: Accessor<ValidatorMeta | undefined>
}

/** A card is a task's session or a draft; its id says which. */
export const draftCard = (id: string) => `draft:${id}`
export const isDraftCard = (card: string) => card.startsWith("draft:")

/**
 * The one store of the board: filled by one load, then by events, each of which touches one entry. What did not change
 * is not redrawn.
 */
export function createBoard(input: {
  readonly now: Accessor<number>
  readonly stallAfter: Accessor<number>
  /** Which cards the columns hold: those at work, or those put away. */
  readonly scope: Accessor<"active" | "archived" | "trashed">
  readonly matches: Accessor<((card: Card) => boolean) | undefined>
}) {
  return createRoot((dispose) => {
    const [state, set] = createStore<State>({
      phase: "loading",
      problem: "",
      repo: "",
      tasks: {},
      helpers: {},
      facts: {},
      progress: {},
      drafts: [],
      pending: {},
    })

    // Which tasks there are, apart from what they say: a new one must not read all the others through the store.
    const known = new Set<string>()
    const [listing, relist] = createSignal(undefined, { equals: false })
    const here = createMemo(() => {
      listing()
      const repo = state.repo
      const tasks = unwrap(state.tasks)
      return untrack(() =>
        [...known].flatMap((id) => (repo === "" || tasks[id]?.meta.repo === repo ? state.tasks[id]! : [])),
      )
    })
    function setTask(id: string, entry: TaskEntry) {
      const repo = unwrap(state.tasks)[id]?.meta.repo
      set("tasks", id, repo === undefined ? entry : reconcile(entry))
      if (repo === entry.meta.repo) return
      known.add(id)
      relist(undefined)
    }
    const cards = mapped(here, (entry) => makeCard(entry))
    const cardOf = (sessionID: string) => cards().get(sessionID)

    function makeCard(entry: TaskEntry): Card {
      const id = entry.meta.sessionID
      const facts = () => state.facts[id]
      const moving = () => {
        const kind = facts()?.activity.kind
        return kind === "busy" || kind === "retry"
      }
      const run = createMemo(
        () => runState(entry, facts(), moving() ? input.now() : untrack(input.now), input.stallAfter()),
        undefined,
        { equals: (a, b) => a !== undefined && a.kind === b.kind && a.text === b.text && a.needsYou === b.needsYou },
      )
      const cost = createMemo(() => {
        let sum = entry.cost
        for (const helperID of helperIDs(entry)) sum += state.helpers[helperID]?.cost ?? 0
        return sum
      })
      const place = createMemo(
        (): Place => {
          const { meta } = entry
          return {
            shelf: meta.trashedAt ? "trashed" : meta.archivedAt ? "archived" : "active",
            column: columnOf(meta),
            order: meta.order,
            number: meta.taskNumber,
          }
        },
        undefined,
        { equals: samePlace },
      )
      return {
        id,
        entry,
        place,
        run,
        cost,
        facts,
        column: () => place().column,
        pending: () => state.pending[id],
        progress: () => state.progress[entry.meta.run?.workerID ?? id],
        intake() {
          const helper = state.helpers[entry.meta.intake?.sessionID ?? ""]
          return helper?.kind === "intake" ? helper.meta : undefined
        },
        validator() {
          const helper = state.helpers[entry.meta.review?.validator?.sessionID ?? ""]
          return helper?.kind === "validator" ? helper.meta : undefined
        },
      }
    }

    /** Of each shelf the columns, in order. One card's change costs a look at each card's place, and no more. */
    const shelves = createMemo(() => {
      const sorted = { active: byStatus(placed), archived: byStatus(placed), trashed: byStatus(placed) }
      for (const card of cards().values()) {
        const place = card.place()
        sorted[place.shelf][place.column].push({ id: card.id, ...place })
      }
      return {
        active: byStatus((status) => sorted.active[status].sort(byOrder).map(({ id }) => id)),
        archived: byStatus((status) => sorted.archived[status].sort(newestFirst).map(({ id }) => id)),
        trashed: byStatus((status) => sorted.trashed[status].sort(newestFirst).map(({ id }) => id)),
      }
    })
    const drafts = createMemo(() => state.drafts.map((draft) => draftCard(draft.id)), [], { equals: sameList })
    const listed = STATUSES.map((status) =>
      createMemo(
        () => {
          const ids = shelves().active[status]
          return status === "backlog" && drafts().length > 0 ? [...ids, ...drafts()] : ids
        },
        [] as readonly string[],
        { equals: sameList },
      ),
    )
    const everything = createMemo(() => byStatus((status) => listed[STATUSES.indexOf(status)]!()))
    /** What the filter lets through; without one, everything. */
    const columns = createMemo(() => {
      const matches = input.matches()
      const scope = input.scope()
      const found = scope === "active" ? everything() : shelves()[scope]
      if (!matches) return found
      const kept = (id: string) => {
        const card = cards().get(id)
        return card !== undefined && matches(card)
      }
      return byStatus((status): readonly string[] => found[status].filter(kept))
    })

    const needing = createMemo(() =>
      STATUSES.flatMap((status) => everything()[status]).filter((id) => cards().get(id)?.run().needsYou),
    )

    const byNumber = createMemo(() => new Map(here().map((entry) => [entry.meta.taskNumber, entry])))

    function take(session: Session) {
      const decoded = readKagan(session.id, session.metadata)
      const cost = session.cost ?? 0
      if (decoded.kind === "none" || (decoded.kind === "task" && session.parentID)) return forget(session.id)
      if (decoded.kind === "task") {
        const entry: TaskEntry = {
          title: session.title,
          meta: decoded.meta,
          unreadable: decoded.unreadable,
          readOnly: decoded.readOnly,
          cost,
          directory: session.directory,
        }
        setTask(session.id, entry)
        return
      }
      const entry = { kind: decoded.kind, meta: decoded.meta, cost } as HelperEntry
      set("helpers", session.id, state.helpers[session.id] ? reconcile(entry) : entry)
    }

    function forget(sessionID: string) {
      if (!(sessionID in state.tasks) && !(sessionID in state.helpers)) return
      set(
        produce((draft) => {
          delete draft.tasks[sessionID]
          delete draft.helpers[sessionID]
        }),
      )
      if (known.delete(sessionID)) relist(undefined)
    }

    return {
      state,
      dispose,
      columns,
      needing,
      card: cardOf,
      draft: (card: string) => state.drafts.find((draft) => draftCard(draft.id) === card),
      byNumber: (number: number) => byNumber().get(number),
      /** Every task of this repository, archived and trashed ones too. */
      all: here,
      count: (status: Status) => everything()[status].length,
      queued: () => {
        const { backlog, review } = everything()
        return [...backlog, ...review].filter((id) => cardOf(id)?.run().kind === "queued").length
      },
      /** A turn of some task runs: time is worth watching. */
      moving: createMemo(() => everything().in_progress.some((id) => cardOf(id)?.run().kind === "working")),
      /** The whole list, at start and after a reconnect: what is not in it any more goes. */
      load(sessions: readonly Session[]) {
        batch(() => {
          const found = new Set(sessions.map((session) => session.id))
          for (const id of [...Object.keys(state.tasks), ...Object.keys(state.helpers)]) if (!found.has(id)) forget(id)
          for (const session of sessions) if (session.metadata?.kagan !== undefined) take(session)
          set({ phase: "ready", problem: "" })
        })
      },
      loadFailed: (problem: string) => set(state.phase === "ready" ? { problem } : { phase: "failed", problem }),
      /** `session.created` and `session.updated`. */
      take(session: Session) {
        if (session.metadata?.kagan !== undefined || session.id in state.tasks) take(session)
      },
      forget,
      takeFacts(facts: TaskFacts) {
        batch(() => {
          set("facts", facts.sessionID, state.facts[facts.sessionID] ? reconcile(facts) : facts)
          if (facts.record && !state.tasks[facts.sessionID]) {
            const { title, meta } = facts.record
            setTask(facts.sessionID, {
              title,
              meta,
              unreadable: [],
              readOnly: false,
              cost: 0,
              directory: meta.worktree,
            })
          }
        })
      },
      takeDrafts: (drafts: readonly DraftReply[]) => set("drafts", reconcile([...drafts], { key: "id" })),
      takeProgress(sessionID: string, progress: Progress) {
        if (sessionID in state.tasks || sessionID in state.helpers) set("progress", sessionID, progress)
      },
      setRepo: (repo: string) => set("repo", repo),
      setPending(sessionID: string, text: string | undefined) {
        if (text !== undefined) return set("pending", sessionID, text)
        set(produce((draft) => void delete draft.pending[sessionID]))
      },
    }
  })
}

/** A turn of it is open: working, waiting for a retry, or waiting for an answer. */
export function isRunning(card: Card): boolean {
  const kind = card.facts()?.activity.kind
  return kind === "busy" || kind === "retry" || kind === "blocked"
}

type Placed = Place & { readonly id: string }

const placed = (): Placed[] => []
/** The person's own order. */
const byOrder = (a: Placed, b: Placed) => a.order - b.order || a.number - b.number
const newestFirst = (a: Placed, b: Placed) => b.number - a.number

function samePlace(a: Place | undefined, b: Place): boolean {
  return a?.shelf === b.shelf && a.column === b.column && a.order === b.order && a.number === b.number
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index])
}

function byStatus<T>(list: (status: Status) => T): Record<Status, T> {
  return {
    backlog: list("backlog"),
    in_progress: list("in_progress"),
    review: list("review"),
    done: list("done"),
  }
}

function helperIDs({ meta }: TaskEntry): string[] {
  return [meta.intake?.sessionID, meta.review?.validator?.sessionID, meta.run?.workerID].filter(
    (id) => id !== undefined,
  )
}

/** One value per task, made once and kept for as long as the task is listed. */
function mapped<T>(tasks: Accessor<readonly TaskEntry[]>, make: (entry: TaskEntry) => T): Accessor<Map<string, T>> {
  const list = mapArray(tasks, (entry) => [entry.meta.sessionID, make(entry)] as const)
  return createMemo(() => new Map(list()))
}
