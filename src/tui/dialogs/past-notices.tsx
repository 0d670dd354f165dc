import { dayTime } from "../../core/board.ts"
import { openDialog, type App } from "../app.tsx"
import { spoken } from "../notices.tsx"
import { Choices, DialogFrame, useDialogSpace } from "../ui/dialog.tsx"
import { NOTICE_SIGN } from "../ui/signs.ts"

/** What was said before, newest first; Enter goes to the card it was about. */
export function openNotices(app: App) {
  openDialog(app, () => <PastNotices app={app} />, "large")
}

function PastNotices(props: { readonly app: App }) {
  const { app } = props
  const space = useDialogSpace("large")
  const choices = () =>
    app.notices.past().map((notice) => {
      return {
        title: `${dayTime(notice.at, app.now())} ${app.glyphs.of(NOTICE_SIGN[notice.level])} ${spoken(notice)}${notice.count > 1 ? ` (${notice.count} times)` : ""}`,
        choose() {
          app.host.ui.dialog.clear()
          const entry = notice.taskNumber === undefined ? undefined : app.board.byNumber(notice.taskNumber)
          if (entry) app.selection.select(entry.meta.sessionID)
        },
      }
    })
  return (
    <DialogFrame title="Notices" size="large" hint="Enter goes to its card · Esc closes">
      <Choices choices={choices()} width={space.width()} rows={space.rows()} placeholder="Type to narrow" />
    </DialogFrame>
  )
}
