import type { CheckResult } from "../core/checks.ts"
import { lastLine, type Live } from "../core/live.ts"
import type { Clock } from "../shared/clock.ts"
import { makeTail } from "./tail.ts"

/*
 * What commands of tasks say while they run: their last line on the card, at most twice a second and only when it is
 * another one, and the end of their output for whoever asks. Nothing is armed while nothing is written.
 */

const EVERY_MS = 500
const KEPT = 64 * 1024
const LINE_BYTES = 4 * 1024

export type LiveCommand = Omit<Live, "line"> & {
  readonly command: string
  /** What came of those before it. */
  readonly before: readonly CheckResult[]
}

/** A command that has begun: hears what it writes until it has ended. */
export type Telling = { take(chunk: Buffer): void; end(): void }

export interface LiveOutput {
  /** The next command of a task begins; the one before it is over. */
  begin(sessionID: string, command: LiveCommand): Telling
  /** The running command of a task, with what it has written last. */
  of(sessionID: string): (LiveCommand & { readonly output: string }) | undefined
}

export function makeLiveOutput(clock: Clock, tell: (sessionID: string, live: Live | undefined) => void): LiveOutput {
  type Entry = { readonly command: LiveCommand; output(): string; cancel?: (() => void) | undefined }
  const running = new Map<string, Entry>()
  return {
    begin(sessionID, command) {
      const { what, name, index, of } = command
      const says = (line: string) => tell(sessionID, { what, name, index, of, line })
      const tail = makeTail(KEPT)
      const entry: Entry = { command, output: () => tail.end().toString("utf8") }
      let told = ""
      running.get(sessionID)?.cancel?.()
      running.set(sessionID, entry)
      says("")

      function say() {
        entry.cancel = undefined
        const line = lastLine(tail.end(LINE_BYTES).toString("utf8"))
        if (line === told) return
        told = line
        says(line)
      }

      return {
        take(chunk) {
          tail.take(chunk)
          if (running.get(sessionID) === entry) entry.cancel ??= clock.setTimer(EVERY_MS, say)
        },
        end() {
          entry.cancel?.()
          if (running.get(sessionID) !== entry) return
          running.delete(sessionID)
          tell(sessionID, undefined)
        },
      }
    },
    of(sessionID) {
      const entry = running.get(sessionID)
      return entry && { ...entry.command, output: entry.output() }
    },
  }
}
