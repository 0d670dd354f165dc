import type { InputRenderable } from "@opentui/core"
import { createSignal, For, onCleanup, onMount, Show } from "solid-js"
import { displayable } from "../../core/text.ts"
import { partText, plural } from "../../core/board.ts"
import { checksVerdict } from "../../core/checks.ts"
import type { ReplyOf } from "../../core/protocol.ts"
import type { MergeStrategy } from "../../core/task.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { Choices, DialogFrame, fieldProps, Paragraph, useDialogKeys, useDialogSpace } from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"

/** The trust boundary: exactly this tree goes into that branch, as it stood when the dialog said so. */
export function openApprove(app: App, card: Card, target?: string) {
  openDialog(app, () => <Approve app={app} card={card} {...(target === undefined ? {} : { target })} />)
}

type Landing = ReplyOf<"merge.preview">

function Approve(props: { readonly app: App; readonly card: Card; readonly target?: string }) {
  const { app, card } = props
  const { meta, title } = card.entry
  const space = useDialogSpace()
  const snapshot = meta.review!.snapshot!
  const [strategy, setStrategy] = createSignal<MergeStrategy>(app.options().merge.strategy)
  const [landing, setLanding] = createSignal<Landing>()
  const [problem, setProblem] = createSignal("")
  let message: InputRenderable | undefined
  let early = false
  let open = true
  onCleanup(() => (open = false))
  const checks = checksVerdict(meta.review?.checks)
  const outside = card.facts()?.outside ?? []
  const into = () => landing()?.target ?? props.target ?? card.facts()?.target ?? meta.baseBranch

  onMount(async () => {
    const request = { sessionID: card.id, ...(props.target === undefined ? {} : { target: props.target }) }
    const answer = await app.ask("merge.preview", request)
    if (!open) return
    if (!answer.ok) return void setProblem(answer.error.text)
    if (answer.value.target === undefined) return openTarget(app, card, answer.value)
    setLanding(answer.value)
    // Enter came first: what it said yes to is what stands there now, unless there is news.
    const news = answer.value.behind > 0 || answer.value.conflicts.length > 0
    if (early && !news) approve()
  })

  function approve() {
    const seen = landing()
    if (!seen) {
      early = true
      return
    }
    app.host.ui.dialog.clear()
    const text = message?.value.trim() ?? ""
    const request = {
      sessionID: card.id,
      snapshot: snapshot.commit,
      target: seen.target!,
      expected: seen.tip,
      strategy: strategy(),
      ...(text === "" || text === displayable(title) ? {} : { message: text }),
    }
    void app.act(card, "merging", "task.approve", request).then((answer) => answer.ok && app.backToBoard())
  }

  useDialogKeys(() => [
    { key: "return", cmd: approve },
    { key: "tab", cmd: () => void setStrategy(strategy() === "squash" ? "merge" : "squash") },
  ])
  const validator = meta.review?.validator
  return (
    <DialogFrame title={`Approve #${meta.taskNumber}`} hint="Enter merges · Tab squash or merge commit · Esc cancels">
      <Paragraph text={title} width={space.width()} most={2} />
      <Line
        width={space.width()}
        segments={[
          { text: snapshot.commit.slice(0, 7), tone: "primary" },
          { text: ` (${plural(snapshot.files, "file")}, ` },
          { text: `+${snapshot.insertions}`, tone: "success" },
          { text: ` ${app.glyphs.minus}${snapshot.deletions}`, tone: "error" },
          { text: ") into " },
          { text: into(), tone: "primary" },
          { text: landing() ? ` at ${landing()!.tip.slice(0, 7)}` : "", tone: "muted" },
        ]}
      />
      <Line
        width={space.width()}
        segments={[
          { text: "How      ", tone: "muted" },
          { text: strategy() === "squash" ? "squash: one commit" : "merge commit" },
        ]}
      />
      <Show when={(landing()?.behind ?? 0) > 0}>
        <Paragraph
          text={`${into()} moved on by ${plural(landing()!.behind, "commit")} that the review did not see (U brings them in first)`}
          width={space.width()}
          most={2}
          tone="warning"
        />
      </Show>
      <Show when={validator?.state === "waived"}>
        <Line
          width={space.width()}
          segments={[{ text: `Reviewer waived: ${validator?.reason ?? ""}`, tone: "warning" }]}
        />
      </Show>
      <Show when={partText(meta)}>
        {(text) => (
          <Line
            width={space.width()}
            segments={[
              { text: "Review   ", tone: "muted" },
              { text: text(), tone: "warning" },
            ]}
          />
        )}
      </Show>
      <Show when={checks}>
        <Line
          width={space.width()}
          segments={[
            { text: "Checks   ", tone: "muted" },
            { text: checks ?? "", ...(meta.review?.checks?.failed ? { tone: "error" } : {}) },
          ]}
        />
      </Show>
      <Show when={(landing()?.conflicts.length ?? 0) > 0}>
        <Paragraph
          text={`Conflicts now in ${landing()!.conflicts.join(", ")}`}
          width={space.width()}
          most={3}
          tone="error"
        />
      </Show>
      <Show when={problem() !== ""}>
        <Paragraph text={problem()} width={space.width()} most={3} tone="error" />
      </Show>
      <For each={outside}>{(line) => <Paragraph text={line} width={space.width()} most={2} tone="warning" />}</For>
      <box flexDirection="row">
        <Line width={9} segments={[{ text: "Message  ", tone: "muted" }]} />
        <input
          ref={(it: InputRenderable) => {
            message = it
            queueMicrotask(() => it.focus())
          }}
          width={space.width() - 9}
          value={displayable(title)}
          {...fieldProps(app)}
        />
      </box>
    </DialogFrame>
  )
}

/** Its base is gone, or a remote branch that no local one follows: the person says where it goes. */
function openTarget(app: App, card: Card, { branches, gone }: Landing) {
  const { meta } = card.entry
  openDialog(app, () => {
    const space = useDialogSpace()
    return (
      <DialogFrame title={`Merge #${meta.taskNumber} into which branch?`} hint="Enter chooses · Esc cancels">
        <Paragraph
          text={
            gone === undefined
              ? `Its base ${meta.baseBranch} is a remote branch that no local branch follows.`
              : `It was to go into its base, but ${displayable(gone)}.`
          }
          width={space.width()}
          tone="muted"
          most={2}
        />
        <Choices
          choices={branches.map((branch) => ({ title: branch, choose: () => openApprove(app, card, branch) }))}
          width={space.width()}
          rows={space.rows() - 2}
        />
      </DialogFrame>
    )
  })
}
