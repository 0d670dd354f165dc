import { openDialog, type App } from "../app.tsx"
import { readQuery } from "../board/filter.tsx"
import { TextDialog } from "../ui/dialog.tsx"

/** Narrows the board as the person types; Esc leaves the filter as it was. */
export function openFilter(app: App) {
  const before = app.filter.text()
  let kept = false
  openDialog(
    app,
    () => (
      <TextDialog
        title="Filter"
        about="words · #12 · @model · base:main · is:needs-you · is:blocked · is:archived · is:trashed"
        initial={before}
        placeholder="Empty shows everything"
        hint="Enter keeps it · Esc leaves it as it was"
        onChange={(text) => app.filter.setText(text)}
        submit={(text) => {
          const { unknown } = readQuery(text)
          if (unknown.length > 0) return `there is no filter ${unknown.join(", ")}`
          kept = true
          app.filter.setText(text.trim())
          app.host.ui.dialog.clear()
          return undefined
        }}
      />
    ),
    "medium",
    () => {
      if (!kept) app.filter.setText(before)
    },
  )
}
