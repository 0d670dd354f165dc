import { createMemo } from "solid-js"
import type { RunStateKind } from "../../core/board.ts"
import { useApp } from "../app.tsx"
import { Line } from "../ui/line.tsx"
import { cellsOf, justify, joined, wholeParts, type Segment } from "../ui/segments.ts"
import { RUN_SIGN } from "../ui/signs.ts"
import type { Commands } from "./commands.tsx"
import { COMMANDS, spellKey, type CommandID } from "./keys.ts"

/** Where the name of a state is not how a person says it. */
const SAID: Partial<Record<RunStateKind, string>> = {
  asks_large: "asks",
  done_merged: "merged",
  done_left: "left unmerged",
  in_base: "already in base",
}

/** Left: what the selected card can do now. Right: the whole board. */
export function Footer(props: { readonly commands: Commands; readonly width: number }) {
  const app = useApp()
  const hints = createMemo(() => hintsFor(props.commands))
  const left = (): Segment[] => {
    const card = props.commands.selected()
    const head: Segment[] =
      card && props.width >= 100
        ? [
            { text: ` #${card.entry.meta.taskNumber} `, tone: "primary" },
            {
              text: SAID[card.run().kind] ?? card.run().kind.replaceAll("_", " "),
              tone: RUN_SIGN[card.run().kind].tone,
            },
            { text: ` ${"│"} `, tone: "muted" },
          ]
        : [{ text: " " }]
    return [...head, ...wholeParts(hints(), "  ", props.width - cellsOf(head) - cellsOf(right()) - 2)]
  }
  const linkWord = (): Segment | undefined => {
    if (app.blocked() === undefined) return undefined
    return app.link().kind === "connecting"
      ? { text: "connecting", tone: "muted" }
      : { text: "look only", tone: "warning" }
  }
  const right = (): Segment[] => {
    const needing = app.board.needing().length
    const filter = app.filter.text()
    const problems = app.problems().length
    const update = app.updates.status()
    return joined(
      [
        filter === "" ? undefined : { text: `/${filter}`, tone: "accent", command: "kagan.filter" },
        linkWord(),
        update === undefined ? undefined : { text: update, tone: "info" },
        problems === 0
          ? undefined
          : {
              text: `${problems} bad ${problems === 1 ? "option" : "options"}`,
              tone: "warning",
              command: "kagan.settings",
            },
        props.width >= 100 ? { text: `kagan ${app.version}`, tone: "muted" } : undefined,
        { text: `${app.board.count("in_progress")}/${app.options().inProgressLimit}`, tone: "muted" },
        needing === 0
          ? { text: "nothing needs you", tone: "muted" }
          : { text: `${needing} ${needing === 1 ? "needs" : "need"} you`, tone: "warning", command: "kagan.next" },
      ],
      ` ${app.glyphs.dot} `,
    )
  }
  return (
    <Line
      segments={justify(left(), [...right(), { text: " " }], props.width)}
      width={props.width}
      run={(id) => props.commands.run(id as CommandID)}
    />
  )
}

/** The few keys that matter for what is selected, most telling first. */
const ORDER: readonly CommandID[] = [
  "kagan.allow",
  "kagan.reject",
  "kagan.intake",
  "kagan.connect",
  "kagan.retry",
  "kagan.trash",
  "kagan.back",
  "kagan.approve",
  "kagan.review",
  "kagan.forward",
  "kagan.stop",
  "kagan.tell",
  "kagan.sendBack",
  "kagan.follow",
  "kagan.open",
]
const ALWAYS: readonly CommandID[] = ["kagan.menu", "kagan.new", "kagan.help"]

function hintsFor(commands: Commands): Segment[][] {
  const card = commands.selected()
  const able = card ? ORDER.filter((id) => commands.when(id) === undefined && isWorthShowing(id, card)) : []
  return [...able.slice(0, 5), ...ALWAYS.filter((id) => card || id !== "kagan.menu")].map((id): Segment[] => {
    const row = COMMANDS.find((candidate) => candidate.id === id)
    const key = commands.keys(id)[0]
    if (!row || key === undefined) return []
    const hint = (card && commands.hint(id, card)) ?? ("hint" in row ? row.hint : row.title)
    return [
      { text: spellKey(key), tone: "text", bold: true, command: id },
      { text: ` ${hint}`, tone: "muted", command: id },
    ]
  })
}

/** A retry of what went well is possible and not worth a hint; so are answers that were all given. */
function isWorthShowing(id: CommandID, card: NonNullable<ReturnType<Commands["selected"]>>): boolean {
  const kind = card.run().kind
  if (id === "kagan.retry") return !["approvable", "needs_triage", "conflicts"].includes(kind)
  if (id === "kagan.intake") return kind === "needs_answers"
  if (id === "kagan.connect") return lacksLogin(card)
  // Only where they are the way out.
  if (id === "kagan.trash") return kind === "session_gone"
  if (id === "kagan.back") return kind === "queued"
  if (id === "kagan.tell") return card.column() === "in_progress"
  if (id === "kagan.forward") return kind === "ready" || kind === "interrupted" || kind === "failed"
  if (id === "kagan.follow") return card.column() === "done"
  if (id === "kagan.review") return card.column() === "review"
  return true
}

/** What it needs is a provider that is connected: its start was refused for that, or its turn ended there. */
function lacksLogin(card: NonNullable<ReturnType<Commands["selected"]>>): boolean {
  if (card.entry.meta.denied?.kind === "model_not_usable") return true
  const end = card.facts()?.end
  return card.run().kind === "failed" && end?.kind === "failed" && ["auth", "model_not_found"].includes(end.errorClass)
}
