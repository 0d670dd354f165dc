import { rulingNeedsReason } from "../../core/rules.ts"
import type { Disposition } from "../../core/task.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { openOwnReason } from "../dialogs/reason.tsx"
import { Choices, DialogFrame, Paragraph, useDialogSpace } from "../ui/dialog.tsx"
import type { Judged } from "./rows.ts"

/** The person's rulings: one key each, a reason where what weighs is set aside, several at once where they were seen. */
export function createRulings(app: App, sessionID: string, card: () => Card | undefined, next: () => void) {
  /** Ruled on, not answered yet: the next one is selected at once, since the next key is meant for it. */
  const sent = new Set<string>()
  const seen = new Set<string>()

  /** Why nothing can be ruled now. */
  function isBlocked(): boolean {
    const why = app.unable()
    if (why !== undefined) app.tell({ level: "warning", text: why, key: "blocked" })
    return why !== undefined
  }

  async function send(task: Card, judged: readonly Judged[], disposition: Disposition, reason?: string) {
    const ids = judged.map(({ finding }) => finding.id)
    const rulings = ids.map((finding) => ({ finding, disposition, ...(reason === undefined ? {} : { reason }) }))
    for (const id of ids) sent.add(id)
    const answer = app.act(task, `ruling ${ids.join(", ")}`, "findings.rule", { sessionID, rulings })
    next()
    await answer
    for (const id of ids) sent.delete(id)
  }

  return {
    isSent: (id: string) => sent.has(id),
    /** Its words were on the screen. */
    saw: (id: string) => void seen.add(id),
    rule(judged: Judged | undefined, disposition: Disposition) {
      const task = card()
      if (!judged || !task)
        return app.tell({ level: "warning", text: "no finding is selected (n goes to the next)", key: "no finding" })
      if (isBlocked()) return
      const { finding } = judged
      if (!rulingNeedsReason(finding, disposition)) return void send(task, [judged], disposition)
      return openOwnReason(
        app,
        `${finding.id} is ${disposition}: why?`,
        (reason) => void send(task, [judged], disposition, reason),
        `${finding.severity} ${finding.kind}: ${finding.title}`,
      )
    },
    /** All open findings whose words the person has had before them; the others are counted and left. */
    ruleAll(open: readonly Judged[]) {
      const task = card()
      if (!task || isBlocked()) return
      const looked = open.filter(({ finding }) => seen.has(finding.id))
      if (looked.length === 0)
        return app.tell({ level: "warning", text: "nothing is open that you have looked at", key: "no finding" })
      openDialog(app, () => (
        <Several app={app} looked={looked} unseen={open.length - looked.length} choose={ruleLooked} />
      ))
      function ruleLooked(disposition: Disposition) {
        app.host.ui.dialog.clear()
        const heavy = looked.filter(({ finding }) => rulingNeedsReason(finding, disposition))
        if (heavy.length === 0) return void send(task!, looked, disposition)
        openOwnReason(
          app,
          `${looked.length} findings are ${disposition}: why?`,
          (reason) => void send(task!, looked, disposition, reason),
          heavy.map(({ finding }) => `${finding.id} ${finding.severity} ${finding.kind}: ${finding.title}`).join("\n"),
        )
      }
    },
  }
}

function Several(props: {
  readonly app: App
  readonly looked: readonly Judged[]
  readonly unseen: number
  readonly choose: (disposition: Disposition) => void
}) {
  const space = useDialogSpace()
  const { looked, unseen, choose } = props
  const ids = looked.map(({ finding }) => finding.id).join(", ")
  const left = unseen > 0 ? `\n${unseen} more are left out: you have not looked at them yet.` : ""
  return (
    <DialogFrame title={`Rule on ${looked.length} findings at once`} hint="Enter or its key chooses · Esc cancels">
      <Paragraph text={`${ids}${left}`} width={space.width()} most={6} tone="muted" />
      <Choices
        filter={false}
        width={space.width()}
        rows={3}
        choices={[
          { title: "All are to be fixed", key: "f", choose: () => choose("fix") },
          { title: "All are intended", key: "i", choose: () => choose("intended") },
          { title: "All are ignored", key: "g", choose: () => choose("ignored") },
        ]}
      />
    </DialogFrame>
  )
}
