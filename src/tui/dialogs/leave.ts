import type { App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { openReason } from "./reason.tsx"

/** Done without merge: the branch stays, and the reason is kept. */
export function openLeave(app: App, card: Card) {
  openReason(app, {
    title: `#${card.entry.meta.taskNumber} done without merge: why?`,
    reasons: ["Not wanted any more", "Merged by hand", "Superseded by another task"],
    choose: (reason) => {
      const answer = app.act(card, "closing", "task.leave", { sessionID: card.id, reason })
      void answer.then(({ ok }) => ok && app.backToBoard())
    },
  })
}
