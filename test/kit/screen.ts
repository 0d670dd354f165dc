import xterm from "@xterm/headless"

type Emulator = InstanceType<typeof xterm.Terminal>

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

/** The screen as a picture with its true colours. */
export function screenSvg(emulator: Emulator): string {
  // The cell of a 15 px monospaced font, so that lines drawn with characters have no gaps.
  const width = 9
  const height = 17
  const backgrounds: string[] = []
  const words: string[] = []
  for (let row = 0; row < emulator.rows; row++) {
    for (const run of runsOf(emulator, row)) {
      const place = `x="${run.col * width}" y="${row * height}"`
      if (run.style.bg !== BACKGROUND) {
        backgrounds.push(`<rect ${place} width="${run.cells * width}" height="${height}" fill="${run.style.bg}"/>`)
      }
      if (!run.text.trim() && !run.style.underline) continue
      const looks = [
        `fill="${run.style.fg}"`,
        run.style.bold ? 'font-weight="bold"' : "",
        run.style.italic ? 'font-style="italic"' : "",
        run.style.dim ? 'opacity="0.6"' : "",
        run.style.underline ? 'text-decoration="underline"' : "",
      ]
      words.push(
        `<text x="${run.col * width}" y="${row * height + 13}" textLength="${run.cells * width}" ${looks.filter(Boolean).join(" ")}>${escape(run.text)}</text>`,
      )
    }
  }
  const size = `width="${emulator.cols * width}" height="${emulator.rows * height}"`
  const box = `viewBox="0 0 ${emulator.cols * width} ${emulator.rows * height}"`
  const font = `font-family="JetBrains Mono, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="15" xml:space="preserve"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} ${box} ${font}>`,
    `<rect width="100%" height="100%" fill="${BACKGROUND}"/>`,
    ...backgrounds,
    ...words,
    "</svg>\n",
  ].join("\n")
}

interface Run {
  readonly col: number
  cells: number
  text: string
  readonly style: Cell
}

/** Neighbouring cells that look alike, as one. */
function runsOf(emulator: Emulator, row: number): Run[] {
  const runs: Run[] = []
  for (let col = 0; col < emulator.cols; col++) {
    const cell = cellAt(emulator, col, row)
    if (!cell || cell.width === 0) continue
    const last = runs.at(-1)
    if (last && looksLike(last.style, cell)) {
      last.text += cell.text
      last.cells += cell.width
    } else {
      runs.push({ col, cells: cell.width, text: cell.text, style: cell })
    }
  }
  return runs
}

function looksLike(a: Cell, b: Cell): boolean {
  const keys = ["fg", "bg", "bold", "italic", "dim", "underline"] as const
  return keys.every((key) => a[key] === b[key])
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
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
