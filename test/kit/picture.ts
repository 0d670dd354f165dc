import { cellAt, type Cell, type Emulator } from "./screen.ts"

// The cell of a 15 px monospaced font.
const WIDTH = 9
const HEIGHT = 17

/**
 * The screen as a picture (SVG) with its true colours. Lines and blocks made of characters are drawn, so that they join
 * whatever font the picture is seen with.
 */
export function screenSvg(emulator: Emulator): string {
  const rows = Array.from({ length: emulator.rows }, (_, row) => cellsOf(emulator, row))
  const base = mostCommon(rows.flat().map(({ bg }) => bg))
  const size = `${emulator.cols * WIDTH} ${emulator.rows * HEIGHT}`
  const [width, height] = size.split(" ")
  const font = `font-family="JetBrains Mono, DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14.95" xml:space="preserve"`
  const looks = new Map<string, string>()
  const words = rows.flatMap((cells, row) => wordsOf(cells, row, looks))
  const styles = [...looks].map(([style, name]) => `.${name}{${style}}`)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${size}" ${font}>`,
    `<style>${styles.join("")}</style>`,
    `<rect width="100%" height="100%" fill="${base}"/>`,
    ...backgrounds(rows, base),
    ...lines(rows),
    ...words,
    "</svg>\n",
  ].join("\n")
}

interface Placed extends Cell {
  readonly col: number
}

function cellsOf(emulator: Emulator, row: number): Placed[] {
  return Array.from({ length: emulator.cols }, (_, col) => ({ col, ...cellAt(emulator, col, row)! })).filter(
    ({ width }) => width > 0,
  )
}

function mostCommon(values: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return [...counts].toSorted(([, a], [, b]) => b - a)[0]![0]
}

/** Neighbours that are alike, as one run. */
function runs(cells: readonly Placed[], alike: (a: Placed, b: Placed) => boolean): Placed[][] {
  const found: Placed[][] = []
  for (const cell of cells) {
    const last = found.at(-1)
    if (last && alike(last[0]!, cell)) last.push(cell)
    else found.push([cell])
  }
  return found
}

const cellsIn = (run: readonly Placed[]) => run.reduce((sum, { width }) => sum + width, 0)

/** Areas that are not of the base colour; what goes on in the next row is one area. */
function backgrounds(rows: readonly (readonly Placed[])[], base: string): string[] {
  const areas: { key: string; row: number; rows: number }[] = []
  rows.forEach((cells, row) => {
    for (const run of runs(cells, (a, b) => a.bg === b.bg)) {
      const { col, bg } = run[0]!
      if (bg === base) continue
      const key = `x="${col * WIDTH}" width="${cellsIn(run) * WIDTH}" fill="${bg}"`
      const above = areas.find((area) => area.key === key && area.row + area.rows === row)
      if (above) above.rows++
      else areas.push({ key, row, rows: 1 })
    }
  })
  return areas.map(({ key, row, rows }) => `<rect y="${row * HEIGHT}" height="${rows * HEIGHT}" ${key}/>`)
}

/** From the middle of a cell: which sides a line goes to. */
const ARMS: Readonly<Record<string, string>> = {
  "─": "lr",
  "│": "ud",
  "┌": "rd",
  "┐": "ld",
  "└": "ru",
  "┘": "lu",
  "╭": "rd",
  "╮": "ld",
  "╰": "ru",
  "╯": "lu",
  "├": "udr",
  "┤": "udl",
  "┬": "lrd",
  "┴": "lru",
  "┼": "udlr",
}
/** Blocks as parts of a cell: from the left, from the top, width, height. */
const BLOCKS: Readonly<Record<string, readonly [number, number, number, number]>> = {
  "█": [0, 0, 1, 1],
  "▌": [0, 0, 0.5, 1],
  "▐": [0.5, 0, 0.5, 1],
  "▀": [0, 0, 1, 0.5],
  "▄": [0, 0.5, 1, 0.5],
}
const isDrawn = (text: string) => Object.hasOwn(ARMS, text) || Object.hasOwn(BLOCKS, text)

function lines(rows: readonly (readonly Placed[])[]): string[] {
  const strokes = new Map<string, string>()
  const blocks: string[] = []
  const draw = (colour: string, path: string) => strokes.set(colour, (strokes.get(colour) ?? "") + path)
  rows.forEach((cells, row) => {
    for (const run of runs(cells, (a, b) => a.text === b.text && a.fg === b.fg)) {
      const { text, fg, col } = run[0]!
      const [x, y] = [col * WIDTH, row * HEIGHT]
      if (text === "─") draw(fg, `M${x} ${y + HEIGHT / 2}h${run.length * WIDTH}`)
      else if (Object.hasOwn(ARMS, text)) for (const cell of run) draw(fg, joint(text, cell.col * WIDTH, y))
      else if (Object.hasOwn(BLOCKS, text)) for (const cell of run) blocks.push(block(text, cell.col * WIDTH, y, fg))
    }
  })
  return [...[...strokes].map(([colour, path]) => `<path fill="none" stroke="${colour}" d="${path}"/>`), ...blocks]
}

function joint(text: string, x: number, y: number): string {
  const [cx, cy] = [x + WIDTH / 2, y + HEIGHT / 2]
  const end = { u: [cx, y], d: [cx, y + HEIGHT], l: [x, cy], r: [x + WIDTH, cy] } as const
  const arms = [...ARMS[text]!] as (keyof typeof end)[]
  if (text === "│") return `M${cx} ${y}v${HEIGHT}`
  if ("╭╮╰╯".includes(text)) {
    const [from, to] = arms
    return `M${end[from!].join(" ")}Q${cx} ${cy} ${end[to!].join(" ")}`
  }
  return arms.map((arm) => `M${cx} ${cy}L${end[arm].join(" ")}`).join("")
}

function block(text: string, x: number, y: number, colour: string): string {
  const [left, top, width, height] = BLOCKS[text]!
  const place = `x="${x + left * WIDTH}" y="${y + top * HEIGHT}"`
  return `<rect ${place} width="${width * WIDTH}" height="${height * HEIGHT}" fill="${colour}"/>`
}

/** The words of a row; `looks` names each style once for the whole picture. */
function wordsOf(cells: readonly Placed[], row: number, looks: Map<string, string>): string[] {
  // A blank between two words of one look belongs to them, whatever its own colour is.
  const filled = cells.map((cell, at) => {
    const before = cells[at - 1]
    const isBlank = cell.text === " " && !cell.underline
    return isBlank && before && !before.underline && !isDrawn(before.text) ? { ...before, ...blankAt(cell) } : cell
  })
  return runs(filled, (a, b) => styleOf(a) === styleOf(b) && isDrawn(a.text) === isDrawn(b.text)).flatMap((run) => {
    const first = run.findIndex((cell) => cell.text !== " " || cell.underline)
    if (first < 0 || isDrawn(run[0]!.text)) return []
    const last = run.findLastIndex((cell) => cell.text !== " " || cell.underline)
    const shown = run.slice(first, last + 1)
    const style = styleOf(shown[0]!)
    const name = looks.get(style) ?? `c${looks.size}`
    looks.set(style, name)
    const place = `x="${shown[0]!.col * WIDTH}" y="${row * HEIGHT + 13}" textLength="${cellsIn(shown) * WIDTH}"`
    return `<text ${place} class="${name}">${escape(shown.map(({ text }) => text).join(""))}</text>`
  })
}

const blankAt = ({ col, bg }: Placed) => ({ col, bg, text: " ", width: 1 })

function styleOf(cell: Cell): string {
  return [
    `fill:${cell.fg}`,
    cell.bold ? ";font-weight:bold" : "",
    cell.italic ? ";font-style:italic" : "",
    cell.dim ? ";opacity:.6" : "",
    cell.underline ? ";text-decoration:underline" : "",
  ].join("")
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}
