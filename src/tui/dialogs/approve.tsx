import { createSignal, For, Show } from "solid-js"
import { displayable } from "../../core/text.ts"
import { partText } from "../../core/board.ts"
import { checksVerdict } from "../../core/checks.ts"
import type { MergeStrategy } from "../../core/task.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { DialogFrame, fieldProps, Paragraph, useDialogKeys, useDialogSpace } from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"
import type { InputRenderable } from "@opentui/core"

/** The trust boundary: exactly this tree goes into that branch. */
export function openApprove(app: App, card: Card) {
  openDialog(app, () => <Approve app={app} card={card} />)
}

function Approve(props: { readonly app: App; readonly card: Card }) {
  const { app, card } = props
  const { meta, title } = card.entry
  const space = useDialogSpace()
  const snapshot = meta.review!.snapshot!
  const [strategy, setStrategy] = createSignal<MergeStrategy>(app.options().merge.strategy)
  let message: InputRenderable | undefined
  const checks = checksVerdict(meta.review?.checks)
  const conflicts = card.facts()?.conflicts ?? []
  const outside = card.facts()?.outside ?? []

  function approve() {
    app.host.ui.dialog.clear()
    const text = message?.value.trim() ?? ""
    const request = {
      sessionID: card.id,
      snapshot: snapshot.commit,
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
          { text: ` (${snapshot.files} ${snapshot.files === 1 ? "file" : "files"}, ` },
          { text: `+${snapshot.insertions}`, tone: "success" },
          { text: ` ${app.glyphs.minus}${snapshot.deletions}`, tone: "error" },
          { text: ") into " },
          { text: meta.baseBranch, tone: "primary" },
        ]}
      />
      <Line
        width={space.width()}
        segments={[
          { text: "How      ", tone: "muted" },
          { text: strategy() === "squash" ? "squash: one commit" : "merge commit" },
        ]}
      />
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
      <Show when={conflicts.length > 0}>
        <Line width={space.width()} segments={[{ text: `Conflicts now in ${conflicts.join(", ")}`, tone: "error" }]} />
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
