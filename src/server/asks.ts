import type { Ask } from "../core/board.ts"
import type { Host, PermissionRequest, QuestionRequest } from "../shared/host.ts"

/** What sessions of this directory wait for, from a person. A list that cannot be had is empty: the next look asks again. */
export async function pendingAsks(host: Pick<Host, "permissions" | "questions">, directory: string): Promise<Ask[]> {
  const [permissions, questions] = await Promise.all([host.permissions(directory), host.questions(directory)])
  return [
    ...(permissions.ok ? permissions.value.map((ask) => permissionAsk(ask, directory)) : []),
    ...(questions.ok ? questions.value.map((ask) => questionAsk(ask, directory)) : []),
  ]
}

/** Answers "no" where nobody sits: a helper has what it needs, and waits for nothing. */
export function refuseAsk(host: Pick<Host, "replyPermission" | "rejectQuestion">, ask: Ask) {
  return ask.kind === "permission"
    ? host.replyPermission(ask.directory, ask.id, "reject", "This helper works with what it has: report what you know.")
    : host.rejectQuestion(ask.directory, ask.id)
}

/** What an agent wants to do, in the words of a person; a permission that is not named here stands as the host calls it. */
const WANTS: Readonly<Record<string, string>> = {
  bash: "run",
  edit: "edit",
  read: "read",
  webfetch: "fetch",
  task: "start the subagent",
  external_directory: "reach outside its folder:",
}

function permissionAsk(ask: PermissionRequest, directory: string): Ask {
  const what = typeof ask.metadata.command === "string" ? ask.metadata.command : ask.patterns.join(", ")
  return {
    kind: "permission",
    id: ask.id,
    sessionID: ask.sessionID,
    directory,
    permission: ask.permission,
    patterns: ask.patterns,
    text: `${WANTS[ask.permission] ?? `${ask.permission}:`} ${what}`,
  }
}

function questionAsk(ask: QuestionRequest, directory: string): Ask {
  return {
    kind: "question",
    id: ask.id,
    sessionID: ask.sessionID,
    directory,
    questions: ask.questions.map((question) => ({
      question: question.question,
      options: question.options.map((option) => option.label),
      multiple: question.multiple ?? false,
      custom: question.custom ?? true,
    })),
  }
}
