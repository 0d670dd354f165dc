import { RGBA, type KeyEvent, type Renderable } from "@opentui/core"
import type { Keymap } from "@opentui/keymap"
import {
  registerBaseLayoutFallback,
  registerCommaBindings,
  registerEscapeClearsPendingSequence,
  registerManagedTextareaLayer,
  registerTimedLeader,
} from "@opentui/keymap/addons/opentui"
import { createDefaultOpenTuiKeymap } from "@opentui/keymap/opentui"
import { KeymapProvider } from "@opentui/keymap/solid"
import { testRender, useRenderer } from "@opentui/solid"
import { createEffect, createSignal, onCleanup, Show, type JSX } from "solid-js"
import { createStore } from "solid-js/store"
import type { TaskFacts } from "../../src/core/board.ts"
import { TESTED_HOSTS } from "../../src/core/host-version.ts"
import { DEFAULT_OPTIONS, type Options } from "../../src/core/options.ts"
import {
  LOBBY,
  type Push,
  type ReplyOf,
  type RequestFailure,
  type RequestType,
  type Wire,
} from "../../src/core/protocol.ts"
import { ok } from "../../src/core/result.ts"
import { AppProvider, BOARD_ROUTE, createApp, REVIEW_ROUTE, type App, type HostScreen } from "../../src/tui/app.tsx"
import { registerKeys } from "../../src/tui/board/bindings.tsx"
import { BoardScreen } from "../../src/tui/board/board.tsx"
import { createCommands, type Commands } from "../../src/tui/board/commands.tsx"
import type { OpenPort } from "../../src/tui/channel.ts"
import type { AgentChoice, ModelChoice, Session, SessionReader, TailMessage } from "../../src/tui/client.ts"
import { ReviewScreen } from "../../src/tui/review/screen.tsx"
import type { Highlighter } from "../../src/tui/review/syntax.tsx"
import { Guarded } from "../../src/tui/ui/boundary.tsx"
import { manualClock, settle } from "../kit/clock.ts"

/*
 * The board on a test screen: the real views, store, channel end and keymap (set up as the host sets up its own), on a
 * host whose dialogs, routes and theme are small and honest. The server half is a script that answers requests.
 */

export const REPO = "repo-1"
export const VERSION = "0.0.0-test"
export const START = Date.UTC(2030, 0, 1, 12, 0)

type Answers = {
  [T in RequestType]?: (body: any) => ReplyOf<T> | RequestFailure | Promise<ReplyOf<T> | RequestFailure>
}

export type StageOptions = {
  readonly width?: number
  readonly height?: number
  readonly sessions?: readonly Session[]
  readonly facts?: readonly TaskFacts[]
  readonly answers?: Answers
  readonly options?: Partial<Options>
  /** Without a server half nothing answers. */
  readonly server?: false
  readonly models?: readonly ModelChoice[]
  readonly agents?: readonly AgentChoice[]
  /** The last words of a session. */
  readonly tail?: (sessionID: string) => readonly TailMessage[]
  readonly hostVersion?: string
  readonly keybinds?: Readonly<Record<string, unknown>>
  readonly route?: { readonly name: string; readonly params?: Record<string, unknown> }
  readonly kv?: Record<string, unknown>
  /** What the host says that it stands in; it may come to know it late. */
  readonly directory?: () => string
  /** Reads in the place of the scripted ones. */
  readonly read?: Partial<SessionReader>
  /** Nothing is loaded until the test asks for it. */
  readonly empty?: true
  /** The board has never been seen. */
  readonly tour?: true
  readonly env?: Record<string, string>
  readonly theme?: Record<string, RGBA>
  /** Stands for the host's parsers. */
  readonly highlight?: Highlighter
}

export type Stage = Awaited<ReturnType<typeof openStage>>

export async function openStage(options: StageOptions = {}) {
  const clock = manualClock(START)
  const server = scriptedServer(options)
  const host = hostScreen(options)
  let app!: App
  let commands!: Commands
  const reader: SessionReader = {
    sessions: async () => ok(options.sessions ?? []),
    session: async (id) => {
      const found = (options.sessions ?? []).find((session) => session.id === id)
      return found ? ok(found) : { ok: false, error: "no such session" }
    },
    tail: async (id) => ok(options.tail?.(id) ?? []),
    models: async () => ok(options.models ?? []),
    agents: async () => ok(options.agents ?? []),
    ...options.read,
  }

  const test = await testRender(
    () => (
      <host.Screen
        start={(screen) => {
          app = createApp({
            host: screen,
            reader,
            version: VERSION,
            hostVersion: options.hostVersion ?? TESTED_HOSTS.newest,
            spec: "opencode-kagan",
            options: { keybinds: options.keybinds },
            time: clock,
            env: options.env ?? {},
            openPort: server.openPort,
          })
          commands = createCommands(app)
          registerKeys(app, commands)
          if (!options.empty) void app.load()
          return app
        }}
        board={() => <BoardScreen commands={commands} />}
        review={(sessionID) => (
          <ReviewScreen commands={commands} sessionID={sessionID} highlight={options.highlight ?? (async () => [])} />
        )}
      />
    ),
    { width: options.width ?? 80, height: options.height ?? 24, kittyKeyboard: true },
  )

  const isSeen = (text: string | RegExp) =>
    (typeof text === "string" ? new RegExp(escape(text)) : text).test(test.captureCharFrame())

  const stage = {
    app,
    commands,
    clock,
    server,
    host,
    /** Lets everything that was asked be answered, and draws. */
    async settle() {
      for (let i = 0; i < 4; i++) {
        await settle()
        await new Promise((resolve) => setImmediate(resolve))
        await test.renderOnce()
      }
    },
    async press(...keys: string[]) {
      for (const key of keys) {
        pressKey(test.mockInput, key)
        // A lone escape is told from a sequence by the silence after it.
        if (key === "esc") await new Promise((resolve) => setTimeout(resolve, 30))
        await stage.settle()
      }
    },
    async type(text: string) {
      for (const character of text) test.mockInput.pressKey(character)
      await stage.settle()
    },
    async paste(text: string) {
      // By itself, since the mock takes a text such as `__proto__` for the name of a key.
      for (const part of ["\x1b[200~", text, "\x1b[201~"]) test.renderer.stdin.emit("data", Buffer.from(part))
      await stage.settle()
    },
    async click(x: number, y: number) {
      await test.mockMouse.click(x, y)
      await stage.settle()
    },
    mouse: test.mockMouse,
    /** One key and the one frame that answers it, for who measures. */
    async keyToFrame(key: string) {
      pressKey(test.mockInput, key)
      await test.renderOnce()
    },
    draw: () => test.renderOnce(),
    async resize(width: number, height: number) {
      test.resize(width, height)
      await stage.settle()
    },
    frame: () => test.captureCharFrame(),
    spans: () => test.captureSpans(),
    /** The lines a person sees, without trailing blanks. */
    lines: () =>
      test
        .captureCharFrame()
        .split("\n")
        .map((line) => line.trimEnd()),
    shows(text: string | RegExp) {
      if (!isSeen(text)) throw new Error(`not on the screen: ${text}\n${test.captureCharFrame()}`)
    },
    showsNot(text: string | RegExp) {
      if (isSeen(text)) throw new Error(`on the screen: ${text}\n${test.captureCharFrame()}`)
    },
    push: (push: Push) => server.push(push),
    close() {
      app.dispose()
      test.renderer.destroy()
    },
  }
  await stage.settle()
  return stage
}

const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")

function pressKey(input: Awaited<ReturnType<typeof testRender>>["mockInput"], key: string) {
  const named: Record<string, () => void> = {
    enter: () => input.pressEnter(),
    "ctrl+enter": () => input.pressEnter({ ctrl: true }),
    "shift+enter": () => input.pressEnter({ shift: true }),
    esc: () => input.pressEscape(),
    tab: () => input.pressTab(),
    "shift+tab": () => input.pressTab({ shift: true }),
    backspace: () => input.pressBackspace(),
    space: () => input.pressKey(" "),
    home: () => input.pressKey("HOME"),
    end: () => input.pressKey("END"),
    pageup: () => input.pressKey("\u001b[5~"),
    pagedown: () => input.pressKey("\u001b[6~"),
    up: () => input.pressArrow("up"),
    down: () => input.pressArrow("down"),
    left: () => input.pressArrow("left"),
    right: () => input.pressArrow("right"),
    "shift+up": () => input.pressArrow("up", { shift: true }),
    "shift+down": () => input.pressArrow("down", { shift: true }),
  }
  const run = named[key]
  if (run) return run()
  if (/^[A-Z]$/.test(key)) return input.pressKey(key.toLowerCase(), { shift: true })
  if (key.startsWith("ctrl+")) return input.pressKey(key.slice(5), { ctrl: true })
  return input.pressKey(key)
}

/** What the branch that is merged into is at. */
export const TIP = "f00d".padEnd(40, "0")

/** The server half as a script: every request is kept, and answered by the script or not at all. */
function scriptedServer(options: StageOptions) {
  const received = new Map<string, (data: unknown) => void>()
  const requests: { readonly type: RequestType; readonly body: any; readonly id: string }[] = []
  const boards: boolean[] = []
  const answers: Answers = {
    hello: () => ({
      repo: REPO,
      root: "/home/ann/shop-api",
      version: VERSION,
      // The search for a newer version has tests of its own.
      options: { ...DEFAULT_OPTIONS, updates: false, ...options.options },
      problems: [],
    }),
    "board.facts": () => ({ facts: options.facts ?? [], drafts: [] }),
    "base.list": () => ({ branches: ["main", "next"], proposed: "main", dirty: [], dirtyCount: 0 }),
    "task.history": () => ({ lines: [], earlier: 0, unreadable: 0 }),
    "review.checks": () => ({ snapshot: "", results: [] }),
    "merge.preview": ({ target }: { target?: string }) => ({
      snapshot: TIP,
      target: target ?? "main",
      branches: ["main", "next"],
      tip: TIP,
      behind: 0,
      conflicts: [],
    }),
    ...options.answers,
  }

  async function answer(name: string, wire: Extract<Wire, { kagan: "request" }>) {
    requests.push({ type: wire.type, body: wire.body, id: wire.id })
    if (options.server === false) return
    const script = answers[wire.type] as ((body: unknown) => unknown) | undefined
    if (!script) return
    const value = (await script(wire.body)) as object
    const failed = "kind" in value && ["refused", "failed", "unanswered"].includes(value.kind as string)
    received.get(name)?.(
      failed
        ? { kagan: "reply", id: wire.id, ok: false, error: value }
        : { kagan: "reply", id: wire.id, ok: true, value },
    )
  }

  const openPort: OpenPort = (name, receive) => {
    received.set(name, receive)
    return {
      post(wire) {
        structuredClone(wire)
        if (wire.kagan === "request") void answer(name, wire)
        if (wire.kagan === "board") boards.push(wire.open)
      },
      close: () => received.delete(name),
    }
  }
  return {
    openPort,
    requests,
    boards,
    answers,
    /** What was asked, without the housekeeping. */
    asked: () => requests.filter(({ type }) => !READS.has(type)).map(({ type, body }) => ({ type, ...body })),
    push(push: Push) {
      for (const [name, receive] of received) if (name !== LOBBY) receive({ kagan: "push", push })
    },
    up: () => received.get(LOBBY)?.({ kagan: "up", directory: "/home/ann/shop-api", version: VERSION }),
    names: () => [...received.keys()],
  }
}

const READS: ReadonlySet<RequestType> = new Set<RequestType>([
  "hello",
  "board.facts",
  "base.list",
  "review.files",
  "review.sizes",
  "review.file",
  "comments.list",
  "sendBack.preview",
  "review.checks",
  "task.history",
  "template.list",
  "task.description",
  "merge.preview",
  "purge.preview",
])

/** Tokens that differ from each other, so that a test can tell them apart. */
const TOKENS = [
  "primary secondary accent error warning success info text textMuted selectedListItemText background backgroundPanel",
  "backgroundElement backgroundMenu border borderActive borderSubtle diffAdded diffRemoved diffContext diffHunkHeader",
  "diffHighlightAdded diffHighlightRemoved diffAddedBg diffRemovedBg diffContextBg diffLineNumber",
  "diffAddedLineNumberBg diffRemovedLineNumberBg syntaxComment syntaxKeyword syntaxFunction syntaxVariable syntaxString",
  "syntaxNumber syntaxType syntaxOperator syntaxPunctuation",
]
  .join(" ")
  .split(" ")

export const THEME = Object.fromEntries(
  TOKENS.map((token, index) => [token, RGBA.fromInts(10 + index * 7, 250 - index * 5, (index * 37) % 256, 255)]),
) as Record<string, RGBA>

/** A host with the keymap, modes, dialogs and routes that the real one has, as far as plugins can see them. */
function hostScreen(options: StageOptions) {
  const [route, setRoute] = createSignal(options.route ?? { name: BOARD_ROUTE })
  const [dialogs, setDialogs] = createStore<{ stack: { render: () => JSX.Element; onClose?: () => void }[] }>({
    stack: [],
  })
  const toasts: { readonly message: string; readonly variant?: string; readonly title?: string }[] = []
  const attention: string[] = []
  /** Every line that is drawn anew asks for the theme. */
  const drawn = { lines: 0 }
  const kv: Record<string, unknown> = options.kv ?? {}
  // The tour is offered once; it has a test of its own.
  kv["kagan.tour.seen"] ??= options.tour ? undefined : true
  const slots: unknown[] = []
  const modes: string[] = []
  let made: Keymap<Renderable, KeyEvent> | undefined
  const navigated: { readonly name: string; readonly params?: Record<string, unknown> }[] = []

  function Screen(props: {
    readonly start: (screen: HostScreen) => App
    readonly board: () => JSX.Element
    readonly review: (sessionID: string) => JSX.Element
  }) {
    const renderer = useRenderer()
    const keymap = createDefaultOpenTuiKeymap(renderer)
    made = keymap
    const setMode = () => keymap.setData("opencode.mode", modes.at(-1) ?? "base")
    setMode()
    keymap.registerLayerFields({ mode: (value, context) => context.require("opencode.mode", value) })
    registerCommaBindings(keymap)
    keymap.appendBindingExpander(({ input, displays }) => {
      const key = input.replace(
        /(^|[+,\s>])(enter|esc)(?=$|[+,\s<])/g,
        (_, lead: string, name: string) => lead + (name === "enter" ? "return" : "escape"),
      )
      return key === input ? undefined : [{ key, displays }]
    })
    registerBaseLayoutFallback(keymap)
    registerTimedLeader(keymap, { trigger: "ctrl+x", name: "leader", timeoutMs: 2_000 })
    registerEscapeClearsPendingSequence(keymap)
    registerManagedTextareaLayer(keymap, renderer, {
      enabled: () =>
        renderer.currentFocusedEditor !== null &&
        renderer.currentFocusedEditor?.constructor.name === "TextareaRenderable",
      bindings: [
        { key: "return", cmd: "input.submit" },
        { key: "shift+return,ctrl+return,alt+return,ctrl+j", cmd: "input.newline" },
      ],
    })
    keymap.registerLayer({
      mode: "modal",
      enabled: () => dialogs.stack.length > 0,
      bindings: [{ key: "escape", cmd: () => close() }],
    })
    createEffect(() => {
      if (dialogs.stack.length === 0) return
      modes.push("modal")
      setMode()
      onCleanup(() => {
        modes.pop()
        setMode()
      })
    })
    const close = () => {
      dialogs.stack.at(-1)?.onClose?.()
      setDialogs("stack", [])
    }
    const screen = screenOf(keymap, renderer, close)
    const app = props.start(screen)
    return (
      <KeymapProvider keymap={keymap}>
        <AppProvider app={app}>
          <box flexGrow={1} flexDirection="column" width="100%" height="100%">
            <Show when={route().name === BOARD_ROUTE}>
              <Guarded name="screen">{props.board()}</Guarded>
            </Show>
            <Show when={route().name === REVIEW_ROUTE}>
              <Guarded name="screen">{props.review(String(route().params?.sessionID))}</Guarded>
            </Show>
            <Show when={route().name !== BOARD_ROUTE && route().name !== REVIEW_ROUTE}>
              <text>{`another screen: ${route().name}`}</text>
            </Show>
          </box>
          <Show when={dialogs.stack.length > 0}>
            <DialogBox>{dialogs.stack.at(-1)?.render as unknown as JSX.Element}</DialogBox>
          </Show>
        </AppProvider>
      </KeymapProvider>
    )
  }

  const [size, setSize] = createSignal<"medium" | "large" | "xlarge">("medium")
  /** Takes the function itself for its child, as the host's does: whatever the root of a dialog reads makes it anew. */
  function DialogBox(props: { readonly children: JSX.Element }) {
    const renderer = useRenderer()
    const width = () => Math.min({ medium: 60, large: 88, xlarge: 116 }[size()], renderer.width - 2)
    return (
      <box
        position="absolute"
        left={0}
        top={0}
        width="100%"
        height="100%"
        zIndex={3000}
        alignItems="center"
        paddingTop={Math.floor(renderer.height / 4)}
      >
        <box width={width()} backgroundColor={THEME.backgroundPanel} paddingTop={1}>
          {props.children}
        </box>
      </box>
    )
  }

  function screenOf(keymap: Keymap<Renderable, KeyEvent>, renderer: any, close: () => void): HostScreen {
    return {
      keymap,
      renderer,
      attention: {
        notify: async ({ message }: { message: string }) => {
          attention.push(message)
          return { ok: true, notification: false, sound: false }
        },
      },
      keys: { formatSequence: () => "", formatBindings: () => undefined },
      mode: { current: () => modes.at(-1) ?? "base", push: () => () => {} },
      route: {
        register: () => () => {},
        navigate(name: string, params?: Record<string, unknown>) {
          navigated.push({ name, ...(params ? { params } : {}) })
          setRoute({ name, ...(params ? { params } : {}) })
        },
        get current() {
          return route()
        },
      },
      ui: {
        toast: (toast: { message: string; variant?: string }) => toasts.push(toast),
        dialog: {
          replace(render: () => JSX.Element, onClose?: () => void) {
            for (const dialog of dialogs.stack) dialog.onClose?.()
            setSize("medium")
            setDialogs("stack", [{ render, ...(onClose ? { onClose } : {}) }])
          },
          clear: close,
          setSize,
          get size() {
            return size()
          },
          get depth() {
            return dialogs.stack.length
          },
          get open() {
            return dialogs.stack.length > 0
          },
        },
      },
      kv: {
        get: (key: string, fallback?: unknown) => kv[key] ?? fallback,
        set: (key: string, value: unknown) => void (kv[key] = value),
        ready: true,
      },
      state: {
        ready: true,
        path: {
          get directory() {
            return options.directory?.() ?? "/home/ann/shop-api"
          },
          worktree: "/home/ann/shop-api",
          state: "",
          config: "",
        },
        vcs: { branch: "main" },
        config: {},
      },
      theme: {
        get current() {
          drawn.lines++
          return options.theme ?? THEME
        },
        mode: () => "dark",
      },
      event: { on: () => () => {} },
      slots: { register: (slot: unknown) => slots.push(slot) },
    } as unknown as HostScreen
  }

  return {
    Screen,
    toasts,
    attention,
    drawn,
    kv,
    slots,
    navigated,
    route,
    navigate: setRoute,
    keymap: () => made!,
    dialogs: () => dialogs.stack.length,
  }
}
