import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { keepEvidence, tail } from "./failures.ts"
import { wholeFrames } from "./frames.ts"
import { withChanges } from "./host.ts"
import { keyBytes } from "./keys.ts"
import { guardGroup, kill, releaseGroup } from "./processes.ts"
import { opencodeBinary, type Sandbox } from "./sandbox.ts"
import { screenSvg } from "./picture.ts"
import { answerColours, cellAt, findText, makeEmulator, screenLines, type Cell, type Scheme } from "./screen.ts"

export interface TerminalOptions {
  readonly cols?: number
  readonly rows?: number
  /** Arguments for `opencode`. */
  readonly args?: readonly string[]
  /** Where to start it; the sandbox's repository by default. */
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Light letters on dark (the default), or dark ones on light: what the terminal says when it is asked. */
  readonly scheme?: Scheme
}

export type Seen = string | RegExp | ((screen: string) => boolean)

export interface Terminal {
  readonly pid: number
  /** Presses keys one after the other, at the pace of a fast typist: "enter", "esc", "up", "ctrl+x", "J", "space", … */
  press(...keys: string[]): Promise<void>
  /** Types a text character by character. */
  type(text: string): Promise<void>
  /** Types a slash command of the host and runs it as soon as it is the one that Enter takes. */
  slash(name: string): Promise<void>
  /** Types a command of the host that takes words behind it, and sends it when the whole line stands in the prompt. */
  command(name: string, words: string): Promise<void>
  /** Pastes a text as a terminal does (bracketed). */
  paste(text: string): Promise<void>
  /** Clicks a cell; columns and rows count from 0, as in `lines()`. */
  click(col: number, row: number): Promise<void>
  /** Clicks the middle of a text that is on the screen. */
  clickText(text: string): Promise<void>
  wheel(direction: "up" | "down", col: number, row: number): Promise<void>
  resize(cols: number, rows: number): void
  /** Changes the terminal's own colours, and tells the program, as a system does in the evening. */
  recolour(scheme: Scheme): void
  /** The screen as text, without trailing blanks. */
  screen(): string
  lines(): string[]
  cell(col: number, row: number): Cell | undefined
  /** Where a text stands on the screen, in cells from 0. */
  find(text: string): { col: number; row: number } | undefined
  /** Waits until the screen shows it, and answers that screen. */
  waitFor(seen: Seen, ms?: number): Promise<string>
  /** Waits until the screen no longer shows it. */
  waitGone(seen: Seen, ms?: number): Promise<string>
  /** The screen as a picture with true colours; also saved when a file is named. */
  svg(file?: string): string
  /** What the program made of its terminal so far, apart from the screen. */
  effects(): TerminalEffects
  /** Quits as a person does (ctrl+c with nothing typed), in order. */
  quit(): Promise<void>
  stop(): Promise<void>
  /** Kills it as a crash would. What it had started goes on. */
  kill9(): Promise<void>
  readonly exited: Promise<number | string>
}

export interface TerminalEffects {
  /** Every title it has set, the last one last. */
  readonly titles: readonly string[]
  /** What it has written into the clipboard (OSC 52). */
  readonly clipboard: readonly string[]
  readonly bells: number
  /** Mouse, paste, wrap and keypad modes, and which of the two screens is shown. */
  readonly modes: string
}

/** Between two keys. An escape needs longer, or it and the next key are one combination with alt. */
const KEY_PAUSE = 30
const ESCAPE_PAUSE = 150

/** Starts the real terminal UI of OpenCode in a pseudo-terminal whose screen can be read. */
export function startTui(sandbox: Sandbox, options: TerminalOptions = {}): Promise<Terminal> {
  const env = withChanges({ ...sandbox.env, TERM: "xterm-256color", COLORTERM: "truecolor" }, options.env)
  const command = [opencodeBinary, ...(options.args ?? [])]
  return startTerminal(command, { ...options, cwd: options.cwd ?? sandbox.repo.dir, env }, () => hostLog(sandbox))
}

/** Starts any program in a pseudo-terminal; `log` is what else to say when something is not seen in time. */
export async function startTerminal(
  command: readonly string[],
  options: { cols?: number; rows?: number; cwd: string; env: Record<string, string>; scheme?: Scheme },
  log: () => string = () => "",
): Promise<Terminal> {
  const emulator = makeEmulator(options.cols ?? 120, options.rows ?? 32)
  const titles: string[] = []
  const clipboard: string[] = []
  let bells = 0
  emulator.onTitleChange((title) => titles.push(title))
  emulator.onBell(() => bells++)
  emulator.parser.registerOscHandler(52, (data) => {
    clipboard.push(data)
    return true
  })
  let scheme = options.scheme ?? "dark"
  const changed = new Set<() => void>()
  const tellChanged = () => {
    for (const look of changed) look()
  }
  const show = wholeFrames((bytes) => emulator.write(bytes, tellChanged))
  const closed = Promise.withResolvers<void>()
  const pty = new Bun.Terminal({
    cols: emulator.cols,
    rows: emulator.rows,
    name: "xterm-256color",
    data: (_, bytes) => show(bytes),
    exit: () => closed.resolve(),
  })
  // The emulator answers what the program asks its terminal (device attributes, cursor position, …).
  emulator.onData((answer) => void (pty.closed || pty.write(answer)))
  answerColours(
    emulator,
    () => scheme,
    (answer) => void (pty.closed || pty.write(answer)),
  )
  const child = Bun.spawn([...command], { terminal: pty, cwd: options.cwd, env: options.env })
  guardGroup(child.pid)

  let ended: number | string | undefined
  const exited = child.exited.then(async (code) => {
    // Its last words are still on their way. What it started may keep the terminal open, so this has an end.
    const patience = setTimeout(closed.resolve, 200)
    await closed.promise
    clearTimeout(patience)
    await new Promise<void>((resolve) => emulator.write("", resolve))
    ended = child.signalCode ?? code
    tellChanged()
    return ended
  })
  const screen = () =>
    screenLines(emulator)
      .map((line) => line.trimEnd())
      .join("\n")
  const forget = keepEvidence(`terminal (pid ${child.pid})`, () => report())
  const report = () => `${screen()}\n──── log\n${tail(log())}`

  const send = async (bytes: string, pause = KEY_PAUSE) => {
    if (ended !== undefined) throw new Error(`the program in the terminal has ended (${ended})\n${report()}`)
    pty.write(bytes)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
  const mouse = (button: number, col: number, row: number, what: "M" | "m") =>
    send(`\x1b[<${button};${col + 1};${row + 1}${what}`)

  function until(test: (screen: string) => boolean, what: string, ms: number): Promise<string> {
    return new Promise((resolve, reject) => {
      const done = () => {
        clearTimeout(timer)
        changed.delete(look)
      }
      const fail = (why: string) => {
        done()
        reject(new Error(`${what}: ${why}\n──── screen\n${report()}`))
      }
      const look = () => {
        const now = screen()
        if (test(now)) {
          done()
          resolve(now)
        } else if (ended !== undefined) {
          fail(`the program ended (${ended})`)
        }
      }
      const timer = setTimeout(() => fail(`not within ${ms} ms`), ms)
      changed.add(look)
      look()
    })
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    kill(child.pid, signal)
    const patience = setTimeout(() => kill(child.pid), 10_000)
    await exited
    clearTimeout(patience)
    finish()
  }

  function finish(): void {
    forget()
    releaseGroup(child.pid)
    if (!pty.closed) pty.close() // an open one keeps the test run alive
  }

  const terminal: Terminal = {
    pid: child.pid,
    async press(...keys) {
      for (const key of keys) await send(keyBytes(key), key === "esc" ? ESCAPE_PAUSE : KEY_PAUSE)
    },
    async type(text) {
      for (const character of text) await send(character, 5)
      await send("")
    },
    async slash(name) {
      await terminal.type(`/${name}`)
      // The host's list is narrowed late: it still has all commands when the whole name stands in the prompt.
      const first = (now: string) => /\/([\w-]+) .*\S/.exec(now)?.[1] === name
      await until(first, `waiting for /${name} to be the first of the list`, 90_000)
      await terminal.press("enter")
    },
    async command(name, words) {
      await terminal.slash(name)
      // As long as the host's list is open, a word behind the command makes it take away all that was typed.
      const listed = (now: string) => now.split("\n").filter((line) => line.includes(`/${name}`)).length !== 1
      await until((now) => !listed(now), `waiting for the end of the list under /${name}`, 90_000)
      await terminal.type(words)
      await until((now) => now.includes(`/${name} ${words}`), `waiting for the whole of /${name}`, 90_000)
      await terminal.press("enter")
    },
    paste: (text) => send(`\x1b[200~${text}\x1b[201~`),
    async click(col, row) {
      await mouse(0, col, row, "M")
      await mouse(0, col, row, "m")
    },
    async clickText(text) {
      const at = findText(emulator, text)
      if (!at) throw new Error(`nothing to click: "${text}" is not on the screen\n──── screen\n${report()}`)
      await terminal.click(at.col + Math.floor(text.length / 2), at.row)
    },
    wheel: (direction, col, row) => mouse(direction === "up" ? 64 : 65, col, row, "M"),
    resize(cols, rows) {
      emulator.resize(cols, rows)
      pty.resize(cols, rows)
      kill(child.pid, "SIGWINCH") // the pseudo-terminal itself does not tell
    },
    recolour(next) {
      scheme = next
      pty.write(`\x1b[?997;${next === "dark" ? 1 : 2}n`)
    },
    screen,
    lines: () => screen().split("\n"),
    cell: (col, row) => cellAt(emulator, col, row),
    find: (text) => findText(emulator, text),
    waitFor: (seen, ms = 90_000) => until(matcher(seen), `waiting to see ${seen}`, ms),
    waitGone: (seen, ms = 90_000) => until((now) => !matcher(seen)(now), `waiting for the end of ${seen}`, ms),
    effects: () => ({
      titles: [...titles],
      clipboard: [...clipboard],
      bells,
      modes: JSON.stringify({ ...readModes(emulator.modes), screen: emulator.buffer.active.type }),
    }),
    svg(file) {
      const picture = screenSvg(emulator)
      if (file !== undefined) writeFileSync(file, picture)
      return picture
    },
    async quit() {
      await send(keyBytes("ctrl+c"))
      const patience = setTimeout(() => kill(child.pid), 30_000)
      const how = await exited
      clearTimeout(patience)
      finish()
      if (how === "SIGKILL") throw new Error("the program did not quit on ctrl+c within 30 s")
    },
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
    exited,
  }
  return terminal
}

function matcher(seen: Seen): (screen: string) => boolean {
  if (typeof seen === "function") return seen
  return typeof seen === "string" ? (screen) => screen.includes(seen) : (screen) => seen.test(screen)
}

/** The newest log file of the hosts that ran in a sandbox. */
export function hostLog(sandbox: Sandbox): string {
  const folder = join(sandbox.home, ".local/share/opencode/log")
  try {
    const newest = readdirSync(folder).toSorted().at(-1)
    return newest ? readFileSync(join(folder, newest), "utf8") : "no log file"
  } catch (error) {
    return `no log: ${String(error)}`
  }
}

/** The modes of an emulator as plain values; they are getters there. */
function readModes(modes: object): Record<string, unknown> {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(modes)).concat(Object.keys(modes))
  const values = modes as Record<string, unknown>
  return Object.fromEntries(names.filter((name) => name.endsWith("Mode")).map((name) => [name, values[name]]))
}
