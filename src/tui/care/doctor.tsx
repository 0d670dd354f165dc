import { byUrgency, doctorSummary, type DoctorFinding, type DoctorReport } from "../../core/doctor.ts"
import { openDialog, type App } from "../app.tsx"
import { Choices, DialogFrame, useDialogSpace, type Choice } from "../ui/dialog.tsx"
import { NOTICE_SIGN } from "../ui/signs.ts"

/** What Kagan stands on, looked at now; Enter mends what can be mended without asking. */
export function openDoctor(app: App) {
  app.tell({ level: "info", text: "looking at everything …", key: "doctor" })
  void look(app)
}

const looking = new WeakSet<App>()

async function look(app: App, said?: string): Promise<void> {
  if (looking.has(app)) return
  looking.add(app)
  const answer = await app.ask("doctor.run", { hostVersion: app.hostVersion, version: app.version })
  looking.delete(app)
  app.notices.dismissKey("doctor")
  if (!answer.ok) return app.tell({ level: "warning", text: answer.error.text, key: "doctor" })
  openDialog(app, () => <Report app={app} report={answer.value} said={said} />, "xlarge")
}

async function mend(app: App, finding: DoctorFinding): Promise<void> {
  const body = { hostVersion: app.hostVersion, version: app.version, id: finding.id }
  const answer = await app.ask("doctor.repair", body)
  await look(app, answer.ok ? answer.value.text : answer.error.text)
}

const SIGN = { trouble: "error", note: "warning", fine: "success" } as const

function Report(props: { readonly app: App; readonly report: DoctorReport; readonly said: string | undefined }) {
  const { app, report } = props
  const space = useDialogSpace("xlarge")
  const choices = byUrgency(report).map((finding): Choice => {
    const { group, level, text, cause, repair } = finding
    const about = [text, cause, repair === undefined ? undefined : `Enter ${repair}.`].filter(
      (part) => part !== undefined,
    )
    const sign = NOTICE_SIGN[SIGN[level]]
    return {
      sign: { text: app.glyphs.of(sign), tone: sign.tone },
      title: text,
      key: repair === undefined ? group : "Enter mends",
      detail: about.join("\n"),
      choose: () => (repair === undefined ? undefined : void mend(app, finding)),
    }
  })
  return (
    <DialogFrame
      title={`Kagan doctor: ${props.said ?? doctorSummary(report)}`}
      size="xlarge"
      hint="Enter mends what it can · type to narrow · Esc closes"
    >
      <Choices choices={choices} width={space.width()} rows={space.rows()} placeholder="Type to narrow" />
    </DialogFrame>
  )
}
