import { createEffect, Match, onCleanup, onMount, Show, Switch } from "solid-js"
import { partText, plural } from "../../core/board.ts"
import { useApp, type App } from "../app.tsx"
import type { Commands } from "../board/commands.tsx"
import { REVIEW_COMMANDS, spellKey, type ReviewCommandID } from "../board/keys.ts"
import { bindableKeys, keysOf, spelledKey } from "../board/rebinding.ts"
import type { Card } from "../board/store.tsx"
import { NoticeOverlay } from "../notice-overlay.tsx"
import { Guarded } from "../ui/boundary.tsx"
import { Line } from "../ui/line.tsx"
import { createRoom, WholeRoom } from "../ui/room.tsx"
import { cellsOf, joined, justify, wholeParts, type Segment } from "../ui/segments.ts"
import { DiffPane } from "./diff-pane.tsx"
import { FileList } from "./list.tsx"
import { createReview, type Review } from "./model.tsx"
import type { Highlighter } from "./syntax.tsx"

/** The review of one task: findings and files at the left, the diff with the findings on their lines at the right. */
export function ReviewScreen(props: {
  readonly commands: Commands
  readonly sessionID: string
  readonly highlight?: Highlighter
}) {
  const app = useApp()
  const room = createRoom()
  const size = room.size
  const review = createReview(app, props.commands, props.sessionID, props.highlight)

  onMount(() => app.opened())
  onCleanup(() => app.left())
  onCleanup(
    app.host.keymap.registerLayer({
      mode: "base",
      priority: 1,
      commands: REVIEW_COMMANDS.map(({ id, title }) => ({
        name: id,
        title,
        category: "Kagan",
        run: () => review.run(id),
      })),
      bindings: REVIEW_COMMANDS.flatMap(({ id, title }) =>
        bindableKeys(app.rebinding, id).map((key) => ({ key, cmd: id, desc: title, group: "Kagan" })),
      ),
    }),
  )

  const split = () => size().width >= 72
  const listWidth = () => (split() ? Math.max(24, Math.min(44, Math.floor(size().width * 0.28))) : size().width)
  const diffWidth = () => (split() ? size().width - listWidth() : size().width)
  const rows = () => Math.max(1, size().height - 2)
  createEffect(() => {
    review.setCells(diffWidth() - 3)
    review.setHeight(rows() - 2)
  })

  return (
    <WholeRoom room={room}>
      <Switch>
        <Match when={review.card() === undefined}>
          <text fg={app.theme().textMuted}>This task is not on the board any more. q goes back.</text>
        </Match>
        <Match when={true}>
          <Guarded name="review">
            <Line
              segments={headOf(app, review, size().width)}
              width={size().width}
              run={(id) => review.run(id as ReviewCommandID)}
            />
            <box flexDirection="row" height={rows()}>
              <Show when={split() || review.pane() === "list"}>
                <FileList review={review} width={listWidth()} rows={rows()} />
              </Show>
              <Show when={split() || review.pane() === "diff"}>
                <DiffPane review={review} width={diffWidth()} rows={rows()} />
              </Show>
            </box>
            <Line
              segments={footOf(app, review, split(), size().width)}
              width={size().width}
              run={(id) => review.run(id as ReviewCommandID)}
            />
          </Guarded>
          <Guarded name="notices">
            <NoticeOverlay width={size().width} bottom={2} />
          </Guarded>
        </Match>
      </Switch>
    </WholeRoom>
  )
}

/** As the card and the approval count: by what stands in the task itself. */
function countOf(card: Card): Segment {
  if (card.run().kind === "reviewing") return { text: "being reviewed", tone: "info" }
  const { findings = 0, ruled = 0 } = card.entry.meta.review ?? {}
  if (findings === 0) return { text: "no findings", tone: "success" }
  return { text: `${plural(findings, "finding")}, ${ruled} ruled`, tone: ruled < findings ? "warning" : "success" }
}

function headOf(app: App, review: Review, width: number): Segment[] {
  const card = review.card()
  const snapshot = review.snapshot()
  if (!card) return []
  const own = review.comments.all().length
  const why = review.commands.when("kagan.approve", card)
  const seen = partText(card.entry.meta)
  const counts = joined(
    [
      countOf(card),
      own > 0 ? { text: plural(own, "comment"), tone: "info" } : undefined,
      seen === "" ? undefined : { text: seen, tone: "warning" },
      why === undefined
        ? {
            text: `${spelledKey(app.rebinding, "kagan.review.approve")} approve`.trim(),
            tone: "success",
            command: "kagan.review.approve",
          }
        : undefined,
    ],
    ` ${app.glyphs.dot} `,
  )
  const since = {
    base: `against ${card.entry.meta.baseBranch}`,
    generation: "since the last iteration",
    look: "since your last look",
  }
  const left: Segment[] = [
    { text: ` #${card.entry.meta.taskNumber} `, tone: "primary" },
    { text: card.entry.title, bold: true },
    {
      text: snapshot ? ` ${app.glyphs.dot} ${snapshot.commit.slice(0, 7)} ${since[review.reading.since()]}` : "",
      tone: review.reading.since() === "base" ? "muted" : "warning",
    },
  ]
  return justify(left, [...counts, { text: " " }], width)
}

const FOOT: readonly ReviewCommandID[] = [
  "kagan.review.fix",
  "kagan.review.intended",
  "kagan.review.ignore",
  "kagan.review.comment",
  "kagan.review.approve",
  "kagan.review.sendBack",
  "kagan.review.close",
  "kagan.review.help",
  "kagan.review.viewed",
]

function footOf(app: App, review: Review, split: boolean, width: number): Segment[] {
  const hints = FOOT.filter((id) => review.findings().length > 0 || !/fix|intended|ignore/.test(id)).map(
    (id): Segment[] => {
      const row = REVIEW_COMMANDS.find((candidate) => candidate.id === id)
      const key = keysOf(app.rebinding, id)[0]
      if (!row || key === undefined) return []
      return [
        { text: spellKey(key), bold: true, command: id },
        { text: ` ${"hint" in row ? row.hint : ""}`, tone: "muted", command: id },
      ]
    },
  )
  const moves: Segment = {
    text: review.cursor.anchor()
      ? "range: j k, c comments"
      : !split
        ? "Tab list/diff  n next open"
        : width < 110
          ? "n next open  Tab files"
          : "j k line  J K hunk  n next open  Tab files",
    tone: "muted",
  }
  // Where there is little room, what can be done stands before how to move, unless a range is being marked.
  const movesFirst = width >= 110 || (width >= 60 && review.cursor.anchor())
  const shown = wholeParts(hints, "  ", movesFirst ? width - cellsOf([moves]) - 3 : width - 1)
  const isRoom = movesFirst || cellsOf(shown) + cellsOf([moves]) + 3 <= width
  return justify([{ text: " " }, ...shown], isRoom ? [moves, { text: " " }] : [], width)
}
