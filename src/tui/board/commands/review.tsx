import { plural } from "../../../core/board.ts"
import { judgeApproval, judgeSendBack, judgeUpdate, refusalText } from "../../../core/rules.ts"
import { REVIEW_ROUTE } from "../../app.tsx"
import { openApprove } from "../../dialogs/approve.tsx"
import { openBase } from "../../dialogs/base.tsx"
import { openConfirm } from "../../dialogs/confirm.tsx"
import { openLeave } from "../../dialogs/leave.ts"
import { openRecord } from "../../dialogs/record.tsx"
import { openSendBack } from "../../dialogs/send-back.tsx"
import { isRunning, type Card } from "../store.tsx"
import { refused, type BehavioursOf, type Desk } from "./behaviour.tsx"

/** Judging what the agent made. */
export function reviewCommands({ app, onCard, inColumn }: Desk): BehavioursOf<"Review"> {
  function update(card: Card) {
    const { meta } = card.entry
    const base = card.facts()?.target ?? meta.baseBranch
    const files = card.facts()?.conflicts?.length ?? 0
    const after =
      files > 0
        ? `It conflicts in ${plural(files, "file")}: nothing is touched, and its agent is told to resolve them.`
        : card.column() === "review"
          ? "What was reviewed is then another tree: it is reviewed again. A conflict goes back to its agent."
          : "Work that is not committed stays uncommitted. A conflict touches nothing and is told to its agent."
    openConfirm(app, {
      title: `Bring ${base} into the branch of #${meta.taskNumber}?`,
      text: after,
      no: "Leave it as it is",
      yes: `Update from ${base}`,
      confirm: () => {
        const answer = app.act(card, `updating from ${base}`, "task.update", { sessionID: card.id })
        void answer.then((said) => {
          const refusal = !said.ok && said.error.kind === "refused" ? said.error.refusal : undefined
          if (refusal?.kind === "base_gone") openBase(app, card)
        })
      },
    })
  }

  return {
    "kagan.update": onCard(update, (card) => {
      const verdict = judgeUpdate(card.entry.meta, { turnRunning: isRunning(card) })
      return verdict.ok ? undefined : refusalText(verdict.error)
    }),
    "kagan.review": {
      when: (card) => {
        if (!card) return "no card is selected"
        return card.entry.meta.review?.snapshot ? undefined : refused({ kind: "no_snapshot" })
      },
      run: (card) => card && app.host.route.navigate(REVIEW_ROUTE, { sessionID: card.id }),
    },
    "kagan.approve": onCard((card) => openApprove(app, card), approvalProblem),
    "kagan.sendBack": onCard((card) => openSendBack(app, card), sendBackProblem),
    "kagan.record": {
      when: (card) => (card ? app.unable() : "no card is selected"),
      run: (card) => card && openRecord(app, card),
    },
    "kagan.leave": onCard((card) => openLeave(app, card), inColumn("review")),
  }
}

function approvalProblem(card: Card): string | undefined {
  const snapshot = card.entry.meta.review?.snapshot
  if (card.column() !== "review") return refused({ kind: "not_in_column", needed: "review" })
  if (!snapshot) return refused({ kind: "no_snapshot" })
  const { changedSince = [], inBase } = card.facts() ?? {}
  const verdict = judgeApproval(card.entry.meta, { snapshot: snapshot.commit }, changedSince, inBase)
  return verdict.ok ? undefined : refusalText(verdict.error)
}

/** The note makes a send back possible without a finding, so only what no note can help is said before. */
export function sendBackProblem(card: Card): string | undefined {
  const verdict = judgeSendBack(card.entry.meta, "a note")
  return verdict.ok ? undefined : refusalText(verdict.error)
}
