import { openCreate } from "../../dialogs/create.tsx"
import { openFilter } from "../../dialogs/filter.tsx"
import { openHelpOf } from "../../dialogs/help.tsx"
import { openMenu } from "../../dialogs/menu.tsx"
import { openNotices } from "../../dialogs/past-notices.tsx"
import { openSettings } from "../../care/settings.tsx"
import { openStats } from "../../dialogs/stats.tsx"
import type { Commands } from "../commands.tsx"
import { COMMANDS, type CommandID } from "../keys.ts"
import type { BehavioursOf, Desk } from "./behaviour.tsx"

/** The board itself: what it shows and what it hides. */
export function boardCommands({ app, draft, command }: Desk, commands: () => Commands): BehavioursOf<"Board"> {
  return {
    "kagan.menu": {
      run(card) {
        const found = draft()
        if (!card && found) openCreate(app, found)
        else openMenu(app, commands(), card)
      },
    },
    "kagan.details": { run: () => void app.togglePane("details") },
    "kagan.preview": { run: () => void app.togglePane("preview") },
    "kagan.filter": { run: () => openFilter(app) },
    "kagan.notices": { run: () => openNotices(app) },
    "kagan.stats": { when: () => app.unable(), run: () => openStats(app) },
    "kagan.settings": { when: () => app.unable(), run: () => openSettings(app) },
    "kagan.help": { run: () => openHelpOf(app, COMMANDS, (id) => command(id as CommandID)) },
    "kagan.dismiss": {
      run() {
        if (app.notices.shown().length > 0) app.notices.dismissAll()
        else if (app.pane()) app.closePane()
        else if (app.filter.text() !== "") app.filter.setText("")
      },
    },
    "kagan.close": { run: () => app.close() },
  }
}
