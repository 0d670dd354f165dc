import {
  batch,
  createComputed,
  createMemo,
  createRoot,
  createSignal,
  getOwner,
  onCleanup,
  untrack,
  type Accessor,
} from "solid-js"
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
import { byStatus, makeShelves, type Shelf } from "./shelves.ts"

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
  /** What was sent to become tasks and has not been answered. */
  making: Making[]
  /** What was asked of the server half and has not been answered, in words, by session. */
  pending: Record<string, string>
}

export type Making = { readonly id: string; readonly titles: readonly string[] }

/** What a view needs of one task; every member is live. */
export type Card = {
  readonly id: string
  readonly entry: TaskEntry
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
/** What is being made has a card as well, until it is answered. */
export const makingCard = (id: string) => `making:${id}`
export const isMakingCard = (card: string) => card.startsWith("making:")

/**
 * The one store of the board: filled by one load, then by events, each of which touches one entry. What did not change
 * is not redrawn.
 */
export function createBoard(input: {
  readonly now: Accessor<number>
  readonly stallAfter: Accessor<number>
  /** Which cards the columns hold: those at work, or those put away. */
  readonly scope: Accessor<Shelf>
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
      making: [],
      pending: {},
    })

    const cards = new Map<string, { readonly card: Card; readonly touch: () => void; readonly dispose: () => void }>()
    const shelves = makeShelves()
    // A card came, went or moved; a card's state became another. Who only counts reads no card through the store.
    const [moved, tellMoved] = createSignal(undefined, { equals: false })
    const [stirred, tellStirred] = createSignal(undefined, { equals: false })
    const runs = new Map<string, RunState>()
    const raw = (id: string) => unwrap(state.tasks)[id]
    const isHere = (entry: TaskEntry) => state.repo === "" || entry.meta.repo === state.repo

    function cardOf(id: string): Card | undefined {
      const entry = state.tasks[id]
      return entry && isHere(entry) ? cards.get(id)?.card : undefined
    }

    function stand(id: string) {
      const entry = raw(id)
      const changed = entry && untrack(() => isHere(entry)) ? shelves.put(id, entry.meta) : shelves.remove(id)
      if (changed) tellMoved(undefined)
    }

    function setTask(id: string, entry: TaskEntry) {
      batch(() => {
        const isKnown = raw(id) !== undefined
        set("tasks", id, isKnown ? reconcile(entry) : entry)
        if (isKnown) cards.get(id)?.touch()
        else cards.set(id, rooted(untrack(() => state.tasks[id]!)))
        stand(id)
      })
    }

    const owner = getOwner()
    onCleanup(() => {
      for (const { dispose } of cards.values()) dispose()
    })
    function rooted(entry: TaskEntry) {
      return createRoot((dispose) => {
        const [touched, touch] = createSignal(undefined, { equals: false })
        const card = makeCard(entry, touched)
        createComputed(() => {
          const run = card.run()
          const before = runs.get(card.id)
          runs.set(card.id, run)
          if (before?.kind !== run.kind || before.needsYou !== run.needsYou) tellStirred(undefined)
        })
        return { card, touch: () => touch(undefined), dispose }
      }, owner)
    }

    /** `touched`: something of the task changed. Its state reads many fields, and through the store each would cost. */
    function makeCard(entry: TaskEntry, touched: Accessor<void>): Card {
      const plain = unwrap(entry)
      const id = plain.meta.sessionID
      const facts = () => state.facts[id]
      const moving = () => {
        const kind = facts()?.activity.kind
        return kind === "busy" || kind === "retry"
      }
      const run = createMemo(
        () => {
          touched()
          return runState(plain, facts(), moving() ? input.now() : untrack(input.now), input.stallAfter())
        },
        undefined,
        { equals: (a, b) => a !== undefined && a.kind === b.kind && a.text === b.text && a.needsYou === b.needsYou },
      )
      function cost() {
        let sum = entry.cost
        for (const helperID of helperIDs(entry)) sum += state.helpers[helperID]?.cost ?? 0
        return sum
      }
      return {
        id,
        entry,
        run,
        cost,
        facts,
        column: () => columnOf(entry.meta),
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

    const columnsOf = (shelf: Shelf) => {
      moved()
      return shelves.columns(shelf)
    }
    /** Those that were there when the first of what is being made was sent. */
    let before: ReadonlySet<string> = new Set()
    /** A task may be on the board before the answer that tells of it: then that is its card. */
    const making = createMemo((): readonly Making[] => {
      if (state.making.length === 0) return []
      moved()
      const there = new Set([...cards.keys()].filter((id) => !before.has(id)).map((id) => raw(id)?.title.trim() ?? ""))
      return state.making.filter(({ titles }) => !titles.some((title) => there.has(title.trim())))
    }, [])
    const drafts = createMemo(
      (): readonly string[] => {
        const sent = new Set(state.making.map(({ id }) => id))
        const kept = state.drafts.filter(({ id }) => !sent.has(id)).map(({ id }) => draftCard(id))
        return [...kept, ...making().map(({ id }) => makingCard(id))]
      },
      [],
      { equals: sameList },
    )
    const listed = STATUSES.map((status) =>
      createMemo(
        () => {
          const ids = columnsOf("active")[status]
          return status === "backlog" && drafts().length > 0 ? [...ids, ...drafts()] : ids
        },
        [] as readonly string[],
        { equals: sameList },
      ),
    )
    const everything = createMemo(() => byStatus((status) => listed[STATUSES.indexOf(status)]!()))
    /** What the filter lets through; without one, everything. */
    const filtered = STATUSES.map((status) =>
      createMemo(
        () => {
          const matches = input.matches()
          const scope = input.scope()
          const found = scope === "active" ? everything()[status] : columnsOf(scope)[status]
          if (!matches) return found
          return found.filter((id) => {
            const card = cardOf(id)
            return card !== undefined && matches(card)
          })
        },
        [] as readonly string[],
        { equals: sameList },
      ),
    )
    const columns = createMemo(() => byStatus((status) => filtered[STATUSES.indexOf(status)]!()))

    /** Of some columns the cards whose state is such; looked through once for all that changed together. */
    const inState = (statuses: readonly Status[], is: (run: RunState) => boolean) =>
      createMemo(
        () => {
          stirred()
          const isSuch = (id: string) => {
            const run = runs.get(id)
            return run !== undefined && is(run)
          }
          return statuses.flatMap((status) => everything()[status]).filter(isSuch)
        },
        [] as readonly string[],
        { equals: sameList },
      )
    const needing = inState(STATUSES, (run) => run.needsYou)
    const queued = inState(["backlog", "review"], (run) => run.kind === "queued")
    const working = inState(["in_progress"], (run) => run.kind === "working")

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
      batch(() => {
        set(
          produce((draft) => {
            delete draft.tasks[sessionID]
            delete draft.helpers[sessionID]
          }),
        )
        cards.get(sessionID)?.dispose()
        cards.delete(sessionID)
        runs.delete(sessionID)
        stand(sessionID)
      })
    }

    return {
      state,
      dispose,
      columns,
      needing,
      card: cardOf,
      draft: (card: string) => state.drafts.find((draft) => draftCard(draft.id) === card),
      byNumber(number: number): TaskEntry | undefined {
        moved()
        const id = shelves.byNumber(number)
        return id === undefined ? undefined : state.tasks[id]
      },
      /** Every task of this repository, archived and trashed ones too. */
      all(): readonly TaskEntry[] {
        moved()
        return [...cards.keys()].flatMap((id) => cardOf(id)?.entry ?? [])
      },
      /** How many tasks this repository has, archived and trashed ones too. */
      total() {
        moved()
        return shelves.total()
      },
      count: (status: Status) => everything()[status].length,
      queued: () => queued().length,
      /** A turn of some task runs: time is worth watching. */
      moving: () => working().length > 0,
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
      /** What is being made now and is not on the board as a task yet. */
      making,
      /** Sent to become tasks: it stands on the board until the returned function is called. */
      startMaking(entry: Making): () => void {
        if (state.making.length === 0) before = new Set(cards.keys())
        set("making", [...state.making.filter(({ id }) => id !== entry.id), entry])
        return () => set("making", (list) => list.filter(({ id }) => id !== entry.id))
      },
      takeProgress(sessionID: string, progress: Progress) {
        if (sessionID in state.tasks || sessionID in state.helpers) set("progress", sessionID, progress)
      },
      setRepo(repo: string) {
        if (state.repo === repo) return
        batch(() => {
          set("repo", repo)
          for (const id of cards.keys()) stand(id)
        })
      },
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

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a === b || (a.length === b.length && a.every((id, index) => id === b[index]))
}

function helperIDs({ meta }: TaskEntry): string[] {
  return [meta.intake?.sessionID, meta.review?.validator?.sessionID, meta.run?.workerID].filter(
    (id) => id !== undefined,
  )
}
