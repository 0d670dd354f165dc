import { openDialog, type App } from "../app.tsx"
import { TextDialog } from "../ui/dialog.tsx"
import { FILTER_MARKS } from "./tree.ts"

/** Narrows the list of files as the person types; Esc leaves it as it was. */
export function openFileFilter(app: App, before: string, set: (text: string) => void) {
  let kept = false
  openDialog(
    app,
    () => (
      <TextDialog
        title="Files"
        about={`words of the path · ${FILTER_MARKS.join(" · ")}`}
        initial={before}
        placeholder="Empty shows all"
        hint="Enter keeps it · Esc leaves it as it was"
        onChange={set}
        submit={(text) => {
          const words = text.split(/\s+/).filter((word) => word.startsWith("is:"))
          const unknown = words.filter((word) => !(FILTER_MARKS as readonly string[]).includes(word))
          if (unknown.length > 0) return `there is no ${unknown.join(", ")}`
          kept = true
          set(text.trim())
          app.host.ui.dialog.clear()
          return undefined
        }}
      />
    ),
    "medium",
    () => {
      if (!kept) set(before)
    },
  )
}
