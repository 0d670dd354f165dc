import xterm from "@xterm/headless"

export type Emulator = InstanceType<typeof xterm.Terminal>

/** One cell of the screen, with the colours that are seen. */
export interface Cell {
  readonly text: string
  /** 2 for a wide character, 0 for the cell that it also covers. */
  readonly width: number
  readonly fg: string
  readonly bg: string
  readonly bold: boolean
  readonly italic: boolean
  readonly dim: boolean
  readonly underline: boolean
}

const FOREGROUND = "#d4d4d4"
const BACKGROUND = "#0a0a0a"

/** A screen of the given size that understands what a program writes to its terminal. */
export function makeEmulator(cols: number, rows: number): Emulator {
  return new xterm.Terminal({ cols, rows, allowProposedApi: true, scrollback: 0 })
}

/** The colours that a terminal has of its own. */
export type Scheme = "dark" | "light"

/** Answers who asks for the terminal's own letters (OSC 10) and ground (OSC 11). Without an answer the host waits a second. */
export function answerColours(emulator: Emulator, scheme: () => Scheme, answer: (bytes: string) => void): void {
  for (const [code, light] of [
    [10, "0000"],
    [11, "ffff"],
  ] as const) {
    const dark = light === "ffff" ? "0000" : "ffff"
    emulator.parser.registerOscHandler(code, (data) => {
      if (data !== "?") return false
      const part = scheme() === "light" ? light : dark
      answer(`\x1b]${code};rgb:${part}/${part}/${part}\x07`)
      return true
    })
  }
}

export function screenLines(emulator: Emulator): string[] {
  const buffer = emulator.buffer.active
  return Array.from(
    { length: emulator.rows },
    // A line keeps the cells that a narrower screen no longer shows.
    (_, row) => buffer.getLine(buffer.viewportY + row)?.translateToString(true, 0, emulator.cols) ?? "",
  )
}

export function cellAt(emulator: Emulator, col: number, row: number): Cell | undefined {
  const buffer = emulator.buffer.active
  const cell = buffer.getLine(buffer.viewportY + row)?.getCell(col)
  if (!cell) return undefined
  const fg = colour(cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor()) ?? FOREGROUND
  const bg = colour(cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor()) ?? BACKGROUND
  const inverse = cell.isInverse() !== 0
  return {
    text: cell.getChars() || (cell.getWidth() > 0 ? " " : ""),
    width: cell.getWidth(),
    fg: inverse ? bg : fg,
    bg: inverse ? fg : bg,
    bold: cell.isBold() !== 0,
    italic: cell.isItalic() !== 0,
    dim: cell.isDim() !== 0,
    underline: cell.isUnderline() !== 0,
  }
}

/** Where a text stands, in cells from 0; wide characters before it count two. */
export function findText(emulator: Emulator, text: string): { col: number; row: number } | undefined {
  for (let row = 0; row < emulator.rows; row++) {
    let line = ""
    const columnOf: number[] = []
    for (let col = 0; col < emulator.cols; col++) {
      const cell = cellAt(emulator, col, row)
      if (!cell || cell.width === 0) continue
      for (let i = 0; i < cell.text.length; i++) columnOf.push(col)
      line += cell.text
    }
    const at = line.indexOf(text)
    if (at >= 0) return { col: columnOf[at]!, row }
  }
  return undefined
}

const SIXTEEN =
  "000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db ffffff".split(
    " ",
  )

function colour(rgb: boolean, palette: boolean, value: number): string | undefined {
  if (rgb) return hex(value)
  if (!palette) return undefined
  if (value < 16) return `#${SIXTEEN[value]}`
  if (value >= 232) return hex((8 + (value - 232) * 10) * 0x010101)
  const index = value - 16
  return hex((level(Math.floor(index / 36)) << 16) | (level(Math.floor(index / 6) % 6) << 8) | level(index % 6))
}

/** One of the six steps of the colour cube. */
function level(step: number): number {
  return step === 0 ? 0 : 55 + step * 40
}

function hex(value: number): string {
  return `#${value.toString(16).padStart(6, "0")}`
}
