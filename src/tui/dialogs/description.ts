import type { App } from "../app.tsx"
import type { Card } from "../board/store.tsx"

/** What a task's person wrote, also where it is too long for its metadata; `undefined`: it could not be read, and that was told. */
export async function wholeDescription(app: App, { id, entry: { meta } }: Card): Promise<string | undefined> {
  if (!meta.descriptionFile) return meta.description ?? ""
  const answer = await app.ask("task.description", { sessionID: id })
  if (answer.ok) return answer.value.description
  app.tell({ level: "error", text: answer.error.text, taskNumber: meta.taskNumber, key: "description" })
  return undefined
}
