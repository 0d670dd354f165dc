import { isReason } from "../../core/rules.ts"
import { openDialog, type App } from "../app.tsx"
import { Choices, DialogFrame, TextDialog, useDialogSpace } from "../ui/dialog.tsx"

export const INTAKE_WAIVERS: readonly string[] = [
  "Small, self-contained change",
  "Already agreed in detail",
  "Repeats an earlier task",
  "An experiment to throw away",
]
export const REVIEW_WAIVERS: readonly string[] = [
  "I read the whole diff myself",
  "Only documentation or text",
  "A revert of known work",
]

export type ReasonRequest = {
  readonly title: string
  /** Frequent reasons, one key each; another one can always be written. */
  readonly reasons: readonly string[]
  readonly choose: (reason: string) => void
}

/** Why the person sets a safeguard aside: one key for a frequent reason, or their own words. */
export function openReason(app: App, request: ReasonRequest) {
  openDialog(app, () => <Reasons app={app} request={request} />)
}

function Reasons(props: { readonly app: App; readonly request: ReasonRequest }) {
  const space = useDialogSpace()
  const take = (reason: string) => {
    props.app.host.ui.dialog.clear()
    props.request.choose(reason)
  }
  const choices = [
    ...props.request.reasons.map((reason, index) => ({
      title: reason,
      key: `${index + 1}`,
      choose: () => take(reason),
    })),
    {
      title: "Another reason …",
      key: "o",
      choose: () => openOwnReason(props.app, props.request.title, props.request.choose),
    },
  ]
  return (
    <DialogFrame title={props.request.title} hint="Enter or its key chooses · Esc cancels">
      <Choices choices={choices} width={space.width()} rows={space.rows()} filter={false} />
    </DialogFrame>
  )
}

/** Asks for a reason in the person's own words; a placeholder is not one. */
export function openOwnReason(app: App, title: string, choose: (reason: string) => void, about?: string) {
  openDialog(app, () => (
    <TextDialog
      title={title}
      {...(about === undefined ? {} : { about })}
      placeholder="Why"
      submit={(text) => {
        if (!isReason(text)) return "a reason says why: a few words that a reader will understand later"
        app.host.ui.dialog.clear()
        choose(text.trim())
        return undefined
      }}
    />
  ))
}
