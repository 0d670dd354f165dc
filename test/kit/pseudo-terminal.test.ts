import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { startTerminal, type Terminal } from "./terminal.ts"

let folder: string
let terminal: Terminal | undefined
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "kagan-pty-"))
})
afterEach(async () => {
  await terminal?.kill9()
  terminal = undefined
  rmSync(folder, { recursive: true, force: true })
})

async function shell(script: string): Promise<Terminal> {
  const env = { PATH: process.env["PATH"]!, TERM: "xterm-256color", LC_ALL: "C.UTF-8" }
  terminal = await startTerminal(["/bin/sh", "-c", script], { cols: 100, rows: 8, cwd: folder, env })
  return terminal
}

test("keys, clicks, the wheel and pasted text arrive as a terminal sends them", async () => {
  const raw = await shell("stty raw -echo; echo ready; cat -v")
  await raw.waitFor("ready")
  await raw.press("up", "ctrl+x", "J")
  await raw.click(4, 2)
  await raw.wheel("down", 0, 0)
  await raw.paste("two words")
  await raw.waitFor("^[[A^XJ^[[<0;5;3M^[[<0;5;3m^[[<65;1;1M^[[200~two words^[[201~")
})

test("the program is told of a resize", async () => {
  const sized = await shell("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done")
  await sized.waitFor("ready")
  sized.resize(44, 11)
  await sized.waitFor("11 44")
  expect(sized.lines()).toHaveLength(11)
})

test("text after wide characters is found by its cell, and clicked there", async () => {
  const wide = await shell("stty raw -echo; printf '日本 [ok]\\r\\n'; cat -v")
  await wide.waitFor("[ok]")
  expect(wide.find("[ok]")).toEqual({ col: 5, row: 0 })
  await wide.clickText("[ok]")
  await wide.waitFor("^[[<0;8;1M")
  await expect(wide.clickText("[no]")).rejects.toThrow('"[no]" is not on the screen')
})

test("a picture has the colours, the styles, and no markup from the screen", async () => {
  const coloured = await shell(
    String.raw`printf '\033[38;2;255;0;127mpink\033[0m \033[1;32mgreen\033[0m \033[7minverse\033[0m <b>&'; exec sleep 600`,
  )
  await coloured.waitFor("<b>&")
  const file = join(folder, "screen.svg")
  const picture = coloured.svg(file)
  const pink = /\.(c\d+)\{fill:#ff007f\}/.exec(picture)![1]
  const green = /\.(c\d+)\{fill:#0dbc79;font-weight:bold\}/.exec(picture)![1]
  expect(picture).toContain(` class="${pink}">pink</text>`)
  expect(picture).toContain(` class="${green}">green</text>`)
  expect(picture).toContain("&lt;b&gt;&amp;")
  expect(coloured.cell(0, 0)).toMatchObject({ text: "p", fg: "#ff007f" })
  expect(coloured.cell(11, 0)).toMatchObject({ text: "i", fg: "#0a0a0a", bg: "#d4d4d4" })
  expect(readFileSync(file, "utf8")).toBe(picture)
})

test("lines and blocks of a picture are drawn, and an area is one", async () => {
  const drawn = await shell(String.raw`printf '\033[44m╭──╮\r\n│▌ │\r\n╰──╯\033[0m'; exec sleep 600`)
  await drawn.waitFor("╰──╯")
  const picture = drawn.svg()
  expect(picture).toContain('<rect y="0" height="51" x="0" width="36" fill="#2472c8"/>')
  expect(picture).toContain("M9 8.5h18")
  expect(picture).toContain('<rect x="9" y="17" width="4.5" height="17" fill="#d4d4d4"/>')
  expect(picture).not.toMatch(/<text/)
})

test("a program that asks for the terminal's colours is told them, and told when they change", async () => {
  const asks = await shell("stty raw -echo; printf '\\033]11;?\\007'; cat -v")
  await asks.waitFor("^[]11;rgb:0000/0000/0000^G")
  asks.recolour("light")
  await asks.waitFor("^[[?997;2n")
})

test("waiting ends when the program does, and says what was on the screen", async () => {
  const short = await shell("echo last words; exit 3")
  await expect(short.waitFor("never")).rejects.toThrow(/the program ended \(3\)[\s\S]*last words/)
  await expect(short.press("j")).rejects.toThrow("has ended (3)")
})

test("what a program makes of its terminal beside the screen is noticed", async () => {
  const loud = await shell(
    "printf '\\033]0;pwned\\007\\033]52;c;cHduZWQ=\\007\\007'; printf '\\033[?2004h\\033[?1000h'; echo ready; sleep 60",
  )
  await loud.waitFor("ready")
  const { modes, ...effects } = loud.effects()
  expect(effects).toEqual({ titles: ["pwned"], clipboard: ["c;cHduZWQ="], bells: 1 })
  expect(modes).toMatch(/"bracketedPasteMode":true/)
  expect(modes).toMatch(/"mouseTrackingMode":"vt200"/)
})
