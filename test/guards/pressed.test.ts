import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { ALL_COMMANDS } from "../kit/press.ts"
import { checkout } from "../kit/sandbox.ts"

/** The commands that a scenario does in the real terminal UI, each with what it has to bring about. */
function pressedIn(source: string): string[] {
  return [...source.matchAll(/\bcommand\(\s*tui,\s*"(kagan\.[\w.]+)",/g)].map(([, id]) => id!)
}

const folder = join(checkout, "test/terminal")
const scenarios = readdirSync(folder).filter((file) => file.endsWith(".test.ts"))

describe("commands in the real terminal UI", () => {
  test("every command of the table is done by a scenario", () => {
    const pressed = new Set(scenarios.flatMap((file) => pressedIn(readFileSync(join(folder, file), "utf8"))))
    const all = ALL_COMMANDS.map(({ id }) => id)
    expect(all.filter((id) => !pressed.has(id))).toEqual([])
    expect([...pressed].filter((id) => !all.some((known) => known === id))).toEqual([])
  })

  test("the guard sees a call however it is broken into lines, and no bare key", () => {
    const source =
      'await command(tui, "kagan.new", "New task")\nawait command(\n  tui,\n  "kagan.review.fix",\n  count(1),\n)'
    expect(pressedIn(source)).toEqual(["kagan.new", "kagan.review.fix"])
    expect(pressedIn('await tui.press("n")')).toEqual([])
  })

  test("no command is there twice", () => {
    const ids = ALL_COMMANDS.map(({ id }) => id)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
  })
})
