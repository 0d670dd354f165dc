import { createResource } from "solid-js"
import type { Comment, CommentDraft } from "../../core/comments.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { openConfirm } from "../dialogs/confirm.tsx"
import { TextDialog } from "../ui/dialog.tsx"

/** Where a comment is to stand: nothing of it is about the task as a whole. */
export type Place = Omit<CommentDraft, "text">

/** The person's comments on a task: read from the server half, written through it, and kept while they are typed. */
export function createComments(app: App, sessionID: string, card: () => Card | undefined) {
  let known: readonly Comment[] = []
  const [listed] = createResource(
    () => {
      const meta = card()?.entry.meta
      // Each change of theirs, and each snapshot on which they may stand elsewhere.
      return [meta?.comments?.at, meta?.review?.snapshot?.commit, app.link().kind] as const
    },
    async ([at, commit, link]): Promise<readonly Comment[]> => {
      if (at === undefined || commit === undefined || link !== "up") return known
      const answer = await app.ask("comments.list", { sessionID })
      if (answer.ok) return (known = answer.value.comments)
      app.tell({ level: "error", text: `the comments could not be read: ${answer.error.text}`, key: "comments" })
      return known
    },
  )

  const draftsKey = `kagan.comments.${sessionID}`
  const drafts = (): Record<string, string> => {
    const kept = app.host.kv.get<unknown>(draftsKey)
    return typeof kept === "object" && kept !== null ? { ...(kept as Record<string, string>) } : {}
  }
  function keepDraft(key: string, text: string | undefined) {
    const { [key]: _, ...others } = drafts()
    app.host.kv.set(draftsKey, text === undefined || text.trim() === "" ? others : { ...others, [key]: text })
  }

  function write(input: {
    readonly key: string
    readonly title: string
    readonly about: string
    readonly initial: string
    readonly send: (card: Card, text: string) => Promise<boolean>
  }) {
    const task = card()
    if (!task) return
    const why = app.unable()
    if (why !== undefined) return app.tell({ level: "warning", text: why, key: "blocked" })
    let isSent = false
    openDialog(
      app,
      () => (
        <TextDialog
          title={input.title}
          size="large"
          about={input.about}
          initial={drafts()[input.key] ?? input.initial}
          placeholder="What should be different"
          hint="Enter keeps it · shift+enter new line · Esc leaves a draft"
          onChange={(text) => !isSent && keepDraft(input.key, text === input.initial ? undefined : text)}
          submit={(text) => {
            if (text.trim() === "") return "a comment needs a word"
            isSent = true
            keepDraft(input.key, text)
            app.host.ui.dialog.clear()
            void input.send(task, text.trim()).then((done) => done && keepDraft(input.key, undefined))
            return undefined
          }}
        />
      ),
      "large",
    )
  }

  return {
    all: () => listed.latest ?? [],
    /** Places of comments that were begun and not sent. */
    drafts: () => Object.keys(drafts()),
    add(place: Place) {
      const words = placeWords(place)
      write({
        key: words,
        title: `Comment on ${words}`,
        about: place.quote?.trim() ?? "It goes back to the agent with the findings to fix.",
        initial: "",
        send: async (task, text) =>
          (await app.act(task, "commenting", "comment.add", { sessionID, ...place, text })).ok,
      })
    },
    edit(comment: Comment) {
      write({
        key: comment.id,
        title: `${comment.id} on ${placeWords(comment)}`,
        about: comment.quote ?? "",
        initial: comment.text,
        send: async (task, text) =>
          (await app.act(task, "changing it", "comment.edit", { sessionID, id: comment.id, text })).ok,
      })
    },
    remove(comment: Comment) {
      const task = card()
      if (!task) return
      openConfirm(app, {
        title: `Delete ${comment.id}?`,
        text: comment.text,
        no: "Keep it",
        yes: "Delete it",
        confirm: () => void app.act(task, "deleting it", "comment.delete", { sessionID, id: comment.id }),
      })
    },
  }
}

/** A place as a person reads it. */
export function placeWords({ location, side }: Place): string {
  if (!location) return "the task"
  const old = side === "old" ? " before the change" : ""
  if (location.line === undefined) return location.path
  return `${location.path}:${location.line}${location.endLine ? `–${location.endLine}` : ""}${old}`
}
