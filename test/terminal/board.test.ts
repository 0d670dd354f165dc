import { chmod, readFile, writeFile } from "node:fs/promises"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, type Model } from "../kit/model.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { board, onBoard } from "../kit/screen-board.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** The board under the hands of a person: fast typing, paste, mouse, resize. One boot. */
let model: Model
let box: Sandbox
let tui: Terminal
/** Where the person's editor notes the folder that it was given. */
let edited: string

/** Of a file it writes more into it, of a folder it notes which one. */
const EDITOR = `#!/bin/sh
if [ -d "$1" ]; then echo "$1" > "$NOTE"; else printf 'From the editor\\nwith a second line\\n' > "$1"; fi
`

beforeAll(async () => {
  model = await startModel()
  box = await makeSandbox({ model })
  const editor = join(box.root, "editor.sh")
  edited = join(box.root, "edited")
  await writeFile(editor, EDITOR)
  await chmod(editor, 0o755)
  tui = await startTui(box, { cols: 100, rows: 30, env: { EDITOR: editor, NOTE: edited } })
  await tui.waitFor("ctrl+p")
  await command(tui, "kagan.board.open", "n makes the first task")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const without = (text: string) => (screen: string) => !screen.includes(text)
const cursorOn = (title: string) => onBoard(`the cursor on ${title}`, ({ selected }) => selected?.title === title)

describe("new tasks", () => {
  test("one after the other, as fast as they can be typed, keep to themselves", async () => {
    for (const title of ["Alpha", "Beta", "Gamma"]) {
      await command(tui, "kagan.new", "New task")
      await tui.type(title)
      await command(tui, "kagan.form.next", "▌Description")
      await tui.type(`about ${title}`)
      await command(tui, "kagan.form.send", without("New task"))
    }
    await tui.waitFor(/#\d Alpha\b/)
    await tui.waitFor(/#\d Beta\b/)
    const screen = await tui.waitFor(/#\d Gamma\b/)
    expect(screen).not.toMatch(/AlphaBeta|BetaGamma/)
  })

  test("a paste of several lines never submits, and Esc keeps it for the next time", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.paste("Pasted over\nseveral lines\n")
    await tui.waitFor("Pasted over")
    await tui.press("tab")
    await tui.paste("First line\nsecond line\n")
    await tui.waitFor("second line")
    await tui.press("esc")
    await tui.waitGone("New task")
    expect(tui.screen()).not.toContain("#4")
    await tui.press("n")
    await tui.waitFor("second line")
    await tui.waitFor("Pasted over")
  })

  test("a dialog and its text live through a change of the terminal's size", async () => {
    tui.resize(41, 13)
    // Of the narrow board: its own size is drawn, not what the emulator made of the wide one.
    await tui.waitFor((screen) => screen.includes("New task") && screen.includes("I 0/2"))
    tui.resize(100, 30)
    await tui.waitFor((screen) => screen.includes("second line") && screen.includes("In Progress"))
  })

  test("the form is gone through by its keys: fields, lists, templates, one's own editor", async () => {
    await command(tui, "kagan.form.next", "▌Description")
    await command(tui, "kagan.form.previous", "▌Title")
    await tui.press("tab", "tab")
    await tui.waitFor("▌Base")
    await command(tui, "kagan.form.choose", "▌main  where you stand")
    await command(tui, "kagan.list.pick", "▌Base")
    await command(tui, "kagan.form.template", "there is no template")
    await tui.press("esc")
    await tui.waitFor("▌Base")
    await command(tui, "kagan.form.start", "Start without intake: why?")
    await command(tui, "kagan.list.down", "▌Already agreed in detail")
    await command(tui, "kagan.list.up", "▌Small, self-contained change")
    await tui.press("esc")
    await tui.waitFor("▌Base")
    const screen = await command(tui, "kagan.form.editor", "From the editor")
    expect(screen).toContain("with a second line")
    await tui.press("esc")
    await tui.waitGone("New task")
  })
})

describe("mouse", () => {
  test("a click selects, a second one opens the actions, and a choice is clicked", async () => {
    await tui.clickText("Beta")
    await tui.waitFor(/▌#\d Beta/)
    await tui.clickText("Beta")
    await tui.waitFor("Type to narrow the actions")
    await tui.clickText("Tell the agent something")
    await tui.waitFor(/Tell the agent of #\d/)
    await tui.press("esc")
    await tui.waitGone("Tell the agent of")
  })

  test("the wheel moves what is seen, not the cursor", async () => {
    await tui.press("g")
    tui.resize(100, 8)
    await tui.waitFor("⌄ 1")
    const at = tui.find("Alpha")!
    await tui.wheel("down", at.col, at.row)
    await tui.waitFor("⌃ 1")
    tui.resize(100, 30)
    await tui.waitFor("Alpha")
  })
})

describe("keys", () => {
  test("the cursor goes up and down, to both ends, and by pages", async () => {
    await command(tui, "kagan.last", cursorOn("Gamma"))
    await command(tui, "kagan.first", cursorOn("Alpha"))
    await command(tui, "kagan.down", cursorOn("Beta"))
    await command(tui, "kagan.up", cursorOn("Alpha"))
    await command(tui, "kagan.page.down", cursorOn("Gamma"))
    await command(tui, "kagan.page.up", cursorOn("Alpha"))
  })

  test("and from column to column, where one is shown at a time", async () => {
    tui.resize(45, 30)
    await tui.waitFor("‹ Backlog 3")
    await command(tui, "kagan.right", "╭ In Progress")
    await command(tui, "kagan.left", "╭ Backlog")
    await command(tui, "kagan.column.2", "╭ In Progress")
    await command(tui, "kagan.column.3", "╭ Review")
    await command(tui, "kagan.column.4", "╭ Done")
    await command(tui, "kagan.column.1", "╭ Backlog")
    tui.resize(100, 30)
    await tui.waitFor("Kagan · ")
  })

  test("capitals are keys of their own", async () => {
    await tui.press("g", "G")
    await tui.waitFor(/▌#\d Gamma/)
    await command(tui, "kagan.higher", (screen) => screen.indexOf("Gamma") < screen.indexOf("Beta"))
    await command(tui, "kagan.notices", "Notices")
    await tui.press("esc")
    await tui.waitGone("Notices")
  })

  test("u takes the last thing back", async () => {
    await command(tui, "kagan.undo", (screen) => screen.indexOf("Beta") < screen.indexOf("Gamma"))
    await tui.press("k")
    await tui.waitFor(cursorOn("Beta"))
    await command(tui, "kagan.lower", (screen) => screen.indexOf("Gamma") < screen.indexOf("Beta"))
    await tui.press("u")
    await tui.waitFor((screen) => screen.indexOf("Beta") < screen.indexOf("Gamma"))
  })

  test("a card goes to the archive and to the trash, and comes back", async () => {
    const beta = board(tui.screen()).selected!.number
    const gone = onBoard("no Beta", (seen) => seen.card(beta) === undefined)
    const back = onBoard("Beta", (seen) => seen.card(beta) !== undefined)
    await command(tui, "kagan.archive", gone)
    await tui.press("u")
    await tui.waitFor(back)
    await tui.clickText("Beta")
    await tui.waitFor(cursorOn("Beta"))
    await command(tui, "kagan.trash", gone)
    await tui.press("u")
    await tui.waitFor(back)
    await tui.press("G")
    await tui.waitFor(cursorOn("Gamma"))
  })

  test("what can be done with a card is asked in a dialog of its own", async () => {
    const asks = async (dialog: string) => {
      await tui.press("esc")
      await tui.waitGone(dialog)
    }
    await command(tui, "kagan.edit", /Edit #\d/)
    await asks("Edit #")
    await command(tui, "kagan.waive", "without intake: why?")
    await asks("without intake: why?")
    await command(tui, "kagan.follow", /Follows from #\d Gamma/)
    await asks("Follows from")
    await command(tui, "kagan.duplicate", /The same as #\d, once more/)
    await asks("once more")
    await command(tui, "kagan.connect", "Connect a provider")
    await asks("Connect a provider")
  })

  test("its branch and folder are copied, and the folder opens in the person's editor", async () => {
    await command(tui, "kagan.copy", /copied kagan\/\d-gamma/)
    await command(tui, "kagan.copy.path", () => tui.effects().clipboard.length === 2)
    expect(tui.effects().clipboard.map((sent) => atob(sent.split(";")[1]!))).toEqual([
      expect.stringMatching(/^kagan\/\d-gamma$/),
      expect.stringMatching(/\d-gamma$/),
    ])
    await command(tui, "kagan.editor", () => existsSync(edited))
    expect(await readFile(edited, "utf8")).toMatch(/\d-gamma\n$/)
  })

  test("details, filter and help open and close by their keys", async () => {
    await command(tui, "kagan.details", "about Gamma")
    await tui.press("space")
    await tui.waitGone("about Gamma")
    await command(tui, "kagan.preview", /#\d live/)
    await tui.press("p")
    await tui.waitGone(/#\d live/)
    await command(tui, "kagan.filter", "is:needs-you")
    await tui.type("beta")
    await command(tui, "kagan.text.send", without("is:needs-you"))
    await tui.waitGone("Gamma")
    // Each dismisses one notice that stands, newest first, and then the filter.
    for (let seen = tui.screen(); !seen.includes("Gamma");) {
      const before = seen
      seen = await command(tui, "kagan.dismiss", (screen) => screen !== before)
    }
    await command(tui, "kagan.help", "Type to find a key")
    await tui.press("esc")
    await tui.waitGone("Type to find a key")
  })

  test(". goes to what needs the person", async () => {
    // The intake of each asks something.
    await tui.waitFor("3 need you")
    await tui.press("4")
    await command(tui, "kagan.next", cursorOn("Alpha"))
  })

  test("the session of a card shows where it stands, and the way back", async () => {
    await command(tui, "kagan.open", "ctrl+p")
    await tui.press("ctrl+x", "k")
    await tui.waitFor("Backlog")
    await command(tui, "kagan.close", "ctrl+p")
  })
})

describe("the host's prompt", () => {
  const home = async (dialog: string) => {
    await tui.press("esc")
    await tui.waitGone(dialog)
    await tui.press("q")
    await tui.waitFor("ctrl+p")
  }

  test("/kagan-new, /kagan-import and /kagan-tour lead to the board", async () => {
    await tui.press("ctrl+x", "k", "q")
    await command(tui, "kagan.task.new", "New task")
    await home("New task")
    await command(tui, "kagan.task.import", "Import a checklist")
    await home("Import a checklist")
    await command(tui, "kagan.tour.open", "1/5")
    await command(tui, "kagan.tour.next", "2/5")
    await command(tui, "kagan.tour.back", "1/5")
    await command(tui, "kagan.tour.leave", without("1/5"))
  })
})
