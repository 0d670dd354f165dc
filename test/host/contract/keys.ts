import { expect } from "vitest"
import { until } from "./bench.ts"
import type { contract } from "./facts.ts"
import { goTo, type Screen } from "./screen.ts"

/** What keys and the mouse do on a plugin's route and in its dialogs. */
export function keyFacts(fact: ReturnType<typeof contract>["fact"], screen: () => Screen): void {
  const half = () => screen().half
  const go = (name: string) => goTo(screen(), name)
  const pressed = (name: string) =>
    screen()
      .probe.records()
      .filter((one) => one.type === "pressed" && one["name"] === name).length

  fact(
    "facts §9",
    "a layer of mode base rests while a dialog is open, one without a mode steals its letters",
    async () => {
      await go("probe")
      await screen().tui.waitFor("THE PROBE'S ROUTE")
      await screen().tui.press("y", "z")
      await until("both fire", () => pressed("with-mode") === 1 && pressed("without-mode") === 1)
      await half().run((p) => p.api.ui.dialog.replace(() => p.api.ui.DialogPrompt({ title: "A DIALOG" })))
      await screen().tui.waitFor("A DIALOG")
      expect(await half().run((p) => p.api.mode.current())).toBe("modal")
      await screen().tui.type("xyzw")
      await screen().tui.waitFor("xyw")
      expect([pressed("with-mode"), pressed("without-mode")]).toEqual([1, 2])
      await screen().tui.press("esc")
      await screen().tui.waitGone("A DIALOG")
      expect(await half().run((p) => p.api.route.current.name)).toBe("probe")
      await screen().tui.press("y")
      await until("it fires again", () => pressed("with-mode") === 2)
      return "typed xyzw: the dialog has xyw, only the layer without a mode fired; esc closes the dialog, not the route; then base fires again"
    },
  )

  fact("facts §9", "the palette, <leader> keys and a slash name reach a plugin's command", async () => {
    await screen().tui.press("ctrl+p")
    await screen().tui.waitFor("Commands")
    await screen().tui.type("Open the")
    await screen().tui.waitFor("Open the probe")
    await screen().tui.press("esc")
    await screen().tui.waitGone("Commands")
    await go("home")
    await screen().tui.waitFor("AT HOME'S BOTTOM")
    await screen().tui.press("ctrl+x", "k")
    await screen().tui.waitFor("THE PROBE'S ROUTE")
    await go("home")
    await screen().tui.waitFor("AT HOME'S BOTTOM")
    await screen().tui.type("/probe-op")
    await screen().tui.waitFor("/probe-open")
    await screen().tui.press("enter")
    await screen().tui.waitFor("THE PROBE'S ROUTE")
    await go("home")
    await screen().tui.waitFor("AT HOME'S BOTTOM")
    return "in ctrl+p on the route, by ctrl+x k, and as /probe-open"
  })

  fact("facts §9", "the command provider.connect opens the host's own dialog, also over a plugin's route", async () => {
    await go("probe")
    await screen().tui.waitFor("THE PROBE'S ROUTE")
    expect(await half().run((p) => p.api.keymap.dispatchCommand("provider.connect"))).toMatchObject({ ok: true })
    await until("the dialog is open", () => half().run((p) => p.api.ui.dialog.open))
    await screen().tui.waitFor("Connect a provider")
    await screen().tui.press("esc")
    await until("the dialog is closed", async () => !(await half().run((p) => p.api.ui.dialog.open)))
    expect(await half().run((p) => p.api.keymap.dispatchCommand("no.such.command"))).toMatchObject({ ok: false })
    await go("home")
    await screen().tui.waitFor("AT HOME'S BOTTOM")
    return "dispatched on the route: its dialog opens there; an unknown command answers ok: false"
  })

  fact("facts §9", "in a field of several lines enter submits and ctrl+j is a new line", async () => {
    await half().run((p) => p.api.ui.dialog.replace(() => p.view.area((written) => p.record("submitted", { written }))))
    await until("the dialog is open", () => half().run((p) => p.api.ui.dialog.open))
    await screen().tui.type("first")
    await screen().tui.press("ctrl+j")
    await screen().tui.type("second")
    await screen().tui.waitFor("second")
    await screen().tui.press("enter")
    const { written } = await screen().probe.waitFor((one) => one.type === "submitted")
    expect(written).toBe("first\nsecond")
    await screen().tui.press("esc")
    await until("the dialog is closed", async () => !(await half().run((p) => p.api.ui.dialog.open)))
    return "typed first, ctrl+j, second, enter: submitted with both lines"
  })

  fact("facts §9", "useTerminalDimensions follows a resize, and a mouse press tells its cell from 0", async () => {
    await go("size")
    await screen().tui.waitFor("size 100x30")
    screen().tui.resize(90, 28)
    await screen().tui.waitFor("size 90x28")
    screen().tui.resize(100, 30)
    await screen().tui.waitFor("size 100x30")
    await go("mouse")
    await screen().tui.waitFor("PRESS HERE")
    const at = screen().tui.find("PRESS HERE")!
    await screen().tui.click(at.col + 2, at.row)
    const { col, row } = await screen().probe.waitFor((one) => one.type === "mouse")
    expect([col, row]).toEqual([at.col + 2, at.row])
    await go("home")
    await screen().tui.waitFor("AT HOME'S BOTTOM")
    return "the drawn size changes with the terminal; {x, y} are the cell's column and row"
  })
}
