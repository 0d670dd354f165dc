// A plugin of the demo's own: opens the board as soon as Kagan's command is there.
const COMMAND = "kagan.board.open"

export default {
  id: "kagan-demo-open-board",
  async tui(api) {
    const look = setInterval(() => {
      if (api.keymap.dispatchCommand(COMMAND).ok) clearInterval(look)
    }, 100)
    api.lifecycle.onDispose(() => clearInterval(look))
  },
}
