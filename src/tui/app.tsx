import type { TuiPluginApi } from "@opencode-ai/plugin/tui"
import {
  batch,
  createContext,
  createEffect,
  createMemo,
  createRoot,
  createSignal,
  useContext,
  type JSX,
} from "solid-js"
import { DEFAULT_OPTIONS, type Options, type OptionProblem } from "../core/options.ts"
import { judgeHost } from "../core/host-version.ts"
import { screenOptions, screenProblems } from "../core/settings.ts"
import type { Push, ReplyOf, RequestFailure, RequestOf, RequestType } from "../core/protocol.ts"
import type { Result } from "../core/result.ts"
import { displayable } from "../core/text.ts"
import { createBoard, type Card } from "./board/store.tsx"
import { createFilter } from "./board/filter.tsx"
import { readRebinding } from "./board/rebinding.ts"
import { createSelection } from "./board/selection.tsx"
import { linkProblem, makeLink, type LinkState, type OpenPort } from "./channel.ts"
import { createUpdates } from "./care/updates.tsx"
import type { SessionReader } from "./client.ts"
import { createNotices, type NoticeInput } from "./notices.tsx"
import type { Time } from "./time.ts"
import { createTour } from "./tour.tsx"
import { Guarded } from "./ui/boundary.tsx"
import { glyphsFor } from "./ui/signs.ts"

/** The host as the screen uses it: everything but its client, whose reading half is given apart. */
export type HostScreen = Omit<TuiPluginApi, "client" | "plugins" | "lifecycle" | "app">

export const BOARD_ROUTE = "kagan.board"
export const REVIEW_ROUTE = "kagan.review"
const TICK = 15_000
const PREVIEW_PAUSE = 400

export type App = ReturnType<typeof createApp>

/** Everything the views share: the store, the link to the server half, notices, the cursor, and the host's screen. */
export function createApp(input: {
  readonly host: HostScreen
  readonly reader: SessionReader
  readonly version: string
  readonly hostVersion: string
  /** How the host's config names this plugin. */
  readonly spec: string
  /** The server runs in another process (`opencode attach`), where no channel reaches. */
  readonly attached?: boolean
  /** Of our entry in `tui.json`: what concerns the screen. */
  readonly options?: unknown
  readonly time: Time
  readonly env: Readonly<Record<string, string | undefined>>
  readonly openPort?: OpenPort
}) {
  const { host, reader, time } = input
  return createRoot((dispose) => {
    const [now, setNow] = createSignal(time.now())
    const [link, setLink] = createSignal<LinkState>({ kind: "connecting" })
    const [served, setServed] = createSignal<Options>(DEFAULT_OPTIONS)
    const [ownOptions, setScreenOptions] = createSignal(input.options)
    /** In force on this screen: our entry in `tui.json` wins in what concerns it. */
    const options = createMemo((): Options => ({ ...served(), ...screenOptions(ownOptions()) }))
    const rebinding = readRebinding(input.options)
    const [servedProblems, setServedProblems] = createSignal<readonly OptionProblem[]>([])
    const problems = createMemo((): readonly OptionProblem[] => [
      ...rebinding.problems.map((text) => ({ option: "tui.json", text })),
      ...screenProblems(ownOptions()),
      ...servedProblems(),
    ])
    const [pane, setPane] = createSignal<"details" | "preview">()
    const [paneTop, setPaneTop] = createSignal(0)
    /** How often something was heard of the session that the preview shows. */
    const [said, setSaid] = createSignal(0)
    let watched: string | undefined
    const directory = () => host.state.path.directory
    const route = () => host.route.current.name
    const isOurs = () => route() === BOARD_ROUTE || route() === REVIEW_ROUTE
    const before = createMemo<{ name: string; params?: Record<string, unknown> }>(
      (last) => (isOurs() ? last : { ...host.route.current }),
      { name: "home" },
    )

    const filterKey = () => `kagan.filter.${directory()}`
    const filter = createFilter((text) => host.kv.set(filterKey(), text === "" ? undefined : text))
    createEffect(() => {
      const kept = directory() === "" ? undefined : host.kv.get<unknown>(filterKey())
      filter.restore(typeof kept === "string" ? kept : "")
    })
    const board = createBoard({
      now,
      stallAfter: () => options().stallAfter,
      scope: filter.scope,
      matches: filter.matches,
    })
    const selection = createSelection(board.columns)
    const notices = createNotices(time)
    const tour = createTour(host)

    const channel = makeLink({
      version: input.version,
      time,
      ...(input.openPort ? { openPort: input.openPort } : {}),
      onState(state) {
        batch(() => {
          setLink(state)
          if (state.kind !== "up") return
          board.setRepo(state.repo)
          setServed(state.options)
          setServedProblems(state.problems)
        })
        if (state.kind !== "up") return
        void askFacts()
        // What other windows did while the halves looked for each other was told to nobody here.
        if (hadList) void load()
      },
      onPush: receive,
    })

    async function askFacts() {
      const answer = await channel.ask("board.facts", {})
      if (!answer.ok) return tell({ level: "warning", text: answer.error.text, key: "facts" })
      batch(() => {
        for (const facts of answer.value.facts) board.takeFacts(facts)
        board.takeDrafts(answer.value.drafts)
      })
    }

    function receive(push: Push) {
      switch (push.type) {
        case "facts":
          return board.takeFacts(push.facts)
        case "drafts":
          return board.takeDrafts(push.drafts)
        case "options":
          return batch(() => {
            setServed(push.options)
            setServedProblems(push.problems)
          })
        case "changed":
          for (const sessionID of push.sessionIDs) void reread(sessionID)
          return
        case "notice": {
          const { type: _, ...notice } = push
          return tell(notice)
        }
      }
    }

    async function reread(sessionID: string) {
      const session = await reader.session(sessionID)
      if (session.ok) board.take(session.value)
      else board.forget(sessionID)
    }

    /** The list was had once. */
    let hadList = false

    async function load() {
      const sessions = await reader.sessions()
      hadList = true
      if (sessions.ok) board.load(sessions.value)
      else board.loadFailed(sessions.error)
    }

    /** On the board its own notice; elsewhere the host's toast, which our route would not show. */
    function tell(notice: NoticeInput) {
      notices.notify(notice)
      if (isOurs()) return
      if (notice.level === "info") return
      const title = notice.taskNumber === undefined ? "Kagan" : `Kagan #${notice.taskNumber}`
      host.ui.toast({ variant: notice.level, title: displayable(title), message: displayable(notice.text) })
    }

    /** Asks the server half for something about one card: pending until the answer, which becomes a notice. */
    async function act<T extends RequestType>(
      card: Card,
      pending: string,
      type: T,
      body: RequestOf<T>,
    ): Promise<Result<ReplyOf<T>, RequestFailure>> {
      board.setPending(card.id, pending)
      const answer = await channel.ask(type, body)
      board.setPending(card.id, undefined)
      const { taskNumber } = card.entry.meta
      if (!answer.ok) {
        tell({ level: answer.error.kind === "refused" ? "warning" : "error", text: answer.error.text, taskNumber })
      } else if ("text" in answer.value && answer.value.text !== "") {
        tell({ level: "success", text: answer.value.text, taskNumber, key: `did ${taskNumber}` })
      }
      return answer
    }

    /** Whether the host's config names us at all: a server half that is listed and silent has another trouble. */
    const listed = () =>
      (host.state.config.plugin ?? []).some((entry) => specOf(entry) === input.spec || specOf(entry).includes("kagan"))
    const blocked = () =>
      linkProblem(link(), {
        listed: listed(),
        attached: input.attached ?? false,
        spec: input.spec,
        file: `${directory() || "."}/opencode.json`,
      })

    /** Why a request would be in vain; while the halves look for each other it waits for them. */
    const unable = () => (link().kind === "connecting" ? undefined : blocked())

    createEffect(() => channel.connect(directory()))

    /** Each is said once, on the board, and stays in the footer as a count until it is mended. */
    const toldOf = new Set<string>()
    let toldOfHost = false
    createEffect(() => {
      if (!isOurs()) return
      const judged = judgeHost(input.hostVersion)
      if (!toldOfHost && (judged.kind === "older" || judged.kind === "newer")) {
        notices.notify({ level: judged.kind === "older" ? "warning" : "info", text: judged.text, key: "host" })
      }
      toldOfHost = true
      for (const { option, text } of problems()) {
        const words = `${option} ${text}`
        if (toldOf.has(words)) continue
        toldOf.add(words)
        notices.notify({ level: "warning", text: words, key: words })
      }
    })

    let cancelHeard: (() => void) | undefined
    let cancelTick: (() => void) | undefined
    const tick = () => {
      setNow(time.now())
      cancelTick = time.setTimer(TICK, tick)
    }
    createEffect(() => {
      const runs = isOurs() && board.moving()
      if (runs && !cancelTick) cancelTick = time.setTimer(TICK, tick)
      if (!runs) {
        cancelTick?.()
        cancelTick = undefined
      }
    })

    let asked = new Set<string>()
    createEffect(() => {
      const needing = new Set(board.needing())
      const fresh = [...needing].filter((id) => !asked.has(id) && isUrgent(board.card(id)))
      asked = needing
      const first = fresh.length > 0 ? board.card(fresh[0]!) : undefined
      if (!first || board.state.phase !== "ready" || !options().attention) return
      const message = displayable(`#${first.entry.meta.taskNumber} ${first.run().text}`)
      void host.attention.notify({ title: "Kagan", message, sound: { name: "question" } })
      if (!isOurs()) host.ui.toast({ variant: "warning", title: "Kagan", message })
    })

    const { hostVersion, version } = input
    const ask = channel.ask
    const updates = createUpdates({ host, hostVersion, version, time, ask, options, link, isOurs })

    return {
      host,
      reader,
      time,
      version,
      hostVersion,
      glyphs: glyphsFor(input.env),
      env: input.env,
      theme: () => host.theme.current,
      now,
      link,
      blocked,
      unable,
      options,
      /** Our entry in `tui.json` says this from now on. */
      setScreenOptions,
      problems,
      rebinding,
      board,
      selection,
      filter,
      notices,
      tour,
      tell,
      act,
      ask,
      updates,
      load,
      directory,
      route,
      isOurs,
      pane,
      paneTop,
      setPaneTop,
      togglePane: (kind: "details" | "preview") => setPane(pane() === kind ? undefined : kind),
      closePane: () => setPane(undefined),
      /** Something was said in a session; only an open preview of it listens, a few times a second at most. */
      heard(sessionID: string) {
        if (sessionID !== watched || cancelHeard) return
        cancelHeard = time.setTimer(PREVIEW_PAUSE, () => {
          cancelHeard = undefined
          setSaid((count) => count + 1)
        })
      },
      /** The session that the preview shows. */
      watch: (sessionID: string | undefined) => void (watched = sessionID),
      said,
      opened() {
        setNow(time.now())
        channel.announce(true)
        channel.connect(directory())
        void load()
      },
      left: () => channel.announce(false),
      /** From the review to the board, where the card has moved. */
      backToBoard() {
        if (route() === REVIEW_ROUTE) host.route.navigate(BOARD_ROUTE)
      },
      /** Back to where the person came from. */
      close() {
        const { name, params } = before()
        if (name === "session" && params?.sessionID) host.route.navigate(name, params)
        else host.route.navigate("home")
      },
      dispose() {
        cancelTick?.()
        cancelHeard?.()
        notices.dismissAll()
        channel.close()
        board.dispose()
        dispose()
      },
    }
  })
}

const specOf = (entry: unknown) => String(Array.isArray(entry) ? entry[0] : entry)

/** What cannot go on without the person, as against what merely waits for a judgement. */
function isUrgent(card: Card | undefined): boolean {
  const kind = card?.run().kind
  return kind !== undefined && kind !== "ready" && kind !== "queued"
}

const AppContext = createContext<App>()

export function AppProvider(props: { readonly app: App; readonly children: JSX.Element }) {
  return <AppContext.Provider value={props.app}>{props.children}</AppContext.Provider>
}

/** A dialog of ours on the host's stack; the host closes it on Esc and calls `onClose`. */
export function openDialog(
  app: App,
  render: () => JSX.Element,
  size: "medium" | "large" | "xlarge" = "medium",
  onClose?: () => void,
) {
  // The host calls this again whenever something changes that the root itself reads; a box reads nothing.
  app.host.ui.dialog.replace(
    () => (
      <box flexDirection="column" flexShrink={1} overflow="hidden">
        <AppProvider app={app}>
          <Guarded name="dialog">{render()}</Guarded>
        </AppProvider>
      </box>
    ),
    onClose,
  )
  app.host.ui.dialog.setSize(size)
}

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error("a view of Kagan stands outside its provider")
  return app
}
