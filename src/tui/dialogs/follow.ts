import type { NewTask } from "../../core/draft.ts"
import type { Finding } from "../../core/task.ts"
import type { App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { placeWords } from "../review/comments.tsx"
import { openCreate } from "./create.tsx"
import { wholeDescription } from "./description.ts"

/** The dialog for a task that follows from a card, or from a finding on it; `#n` is in its words. */
export function openFollowUp(app: App, card: Card, finding?: Finding) {
  const { meta, title } = card.entry
  const place = finding?.location ? `, ${placeWords({ location: finding.location })}` : ""
  const task = finding
    ? {
        title: finding.title,
        description:
          `Follows from the review of #${meta.taskNumber} (${finding.id}${place}).\n${finding.detail}`.trim(),
      }
    : {
        title: `Follow-up of #${meta.taskNumber}`,
        description: `Follows from #${meta.taskNumber} ${title}.`,
      }
  openFilled(app, task, `${card.id} ${finding?.id ?? ""}`)
}

/** The dialog for the same task once more, with all that was chosen for it; `#n` is in its words. */
export async function openDuplicate(app: App, card: Card) {
  const { meta, title } = card.entry
  const description = await wholeDescription(app, card)
  if (description === undefined) return
  const { baseBranch, model, agent, scope, dependsOn } = meta
  const task = {
    title,
    description: `${description}\n\nThe same as #${meta.taskNumber}, once more.`.trim(),
    baseBranch,
    ...(model ? { model } : {}),
    ...(agent ? { agent } : {}),
    ...(scope ? { scope } : {}),
    ...(dependsOn ? { dependsOn } : {}),
  }
  openFilled(app, task, `${card.id} again`)
}

function openFilled(app: App, task: NewTask, from: string) {
  const { title, description } = task
  openCreate(app, { id: crypto.randomUUID(), title, description, tasks: [task], problem: "" }, from)
}
