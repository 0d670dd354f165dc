import { conflictText, type RunState, type TaskFacts } from "../../core/board.ts"
import { checksText } from "../../core/checks.ts"
import { fuzzyPlaces } from "../../core/fuzzy.ts"
import { columnOf, type TaskMeta } from "../../core/task.ts"
import { joined, withMarks, type Segment } from "../ui/segments.ts"
import { RUN_SIGN, type Glyphs, type Sign } from "../ui/signs.ts"
import type { Query } from "./filter.tsx"
import type { Progress } from "./store.tsx"

export type CardInput = {
  readonly title: string
  readonly meta: TaskMeta
  readonly run: RunState
  readonly facts?: TaskFacts
  readonly progress?: Progress
  readonly cost: number
  readonly pending?: string
  /** How long ago it was done. */
  readonly age?: string
  readonly selected: boolean
  readonly glyphs: Glyphs
  /** Numbers it waits for that are not done. */
  readonly after: readonly number[]
  /** What the board is narrowed to: where it is found is brought out. */
  readonly query?: Pick<Query, "words" | "number" | "model" | "base">
}

/** The three lines of a card: title, what it is doing, facts. Nothing that is empty takes room. */
export function cardLines(input: CardInput): readonly [Segment[], Segment[], Segment[]] {
  const { glyphs, run } = input
  const sign = RUN_SIGN[run.kind]
  const state: Segment[] = input.pending
    ? [{ text: `${glyphs.of({ icon: "◔", ascii: "~", tone: "info" })} ${input.pending}`, tone: "info" }]
    : [
        { text: `${glyphs.of(sign)} `, tone: sign.tone },
        { text: run.text, tone: run.needsYou ? sign.tone : "muted" },
        { text: input.age ? ` ${glyphs.dot} ${input.age} ago` : "", tone: "muted" },
      ]
  return [titleLine(input), state, factLine(input)]
}

function titleLine({ title, meta, selected, query }: CardInput): Segment[] {
  const number = `#${meta.taskNumber}`
  return [
    ...withMarks({ text: number, tone: selected ? "primary" : "muted" }, placesOf(number, query?.number?.toString())),
    { text: " " },
    ...withMarks({ text: title, tone: "text", bold: selected }, fuzzyPlaces(query?.words.join(" ") ?? "", title)),
  ]
}

/** Of something that is found as it was typed. */
const placesOf = (text: string, typed: string | undefined) => fuzzyPlaces(typed ?? "", text)

function factLine(input: CardInput): Segment[] {
  const { meta, glyphs, progress, cost } = input
  const muted = (text: string): Segment => ({ text, tone: "muted" })
  const column = columnOf(meta)
  const money = cost >= 0.005 ? muted(`$${cost.toFixed(2)}`) : undefined
  const model = meta.model
    ? withMarks(muted(meta.model.modelID), placesOf(meta.model.modelID, input.query?.model))
    : undefined
  const generation = meta.generation > 1 ? muted(`try ${meta.generation}`) : undefined
  switch (column) {
    case "backlog":
      return joined(
        [
          model,
          withMarks(muted(meta.baseBranch), placesOf(meta.baseBranch, input.query?.base)),
          input.after.length > 0 ? muted(`after ${input.after.map((n) => `#${n}`).join(", ")}`) : undefined,
        ],
        ` ${glyphs.dot} `,
      )
    case "in_progress":
      return joined([progress ? bar(progress, glyphs) : undefined, money, model, generation], ` ${glyphs.dot} `)
    case "review":
      return joined(
        [diffSize(meta, glyphs), ...outlook(input), checks(meta, glyphs), money, generation],
        ` ${glyphs.dot} `,
      )
    case "done":
      return joined([diffSize(meta, glyphs), money], ` ${glyphs.dot} `)
  }
}

/** What a merge would meet, as far as the state does not say it already. */
function outlook({ meta, run, facts }: CardInput): (Segment | undefined)[] {
  const conflict = run.kind === "conflicts" || run.kind === "in_base" ? undefined : conflictText(meta.baseBranch, facts)
  const same = facts?.overlaps ?? []
  const behind = facts?.behind ?? 0
  return [
    conflict === undefined ? undefined : { text: conflict, tone: "error" },
    same.length === 0
      ? undefined
      : { text: `same files as ${same.map(({ taskNumber }) => `#${taskNumber}`).join(", ")}`, tone: "warning" },
    behind > 0 && run.kind !== "in_base" ? { text: `${behind} behind`, tone: "muted" } : undefined,
  ]
}

function bar({ done, total }: Progress, glyphs: Glyphs): Segment[] {
  const cells = Math.min(7, total)
  const full = total === 0 ? 0 : Math.round((done / total) * cells)
  return [
    { text: glyphs.full.repeat(full), tone: "info" },
    { text: glyphs.empty.repeat(cells - full), tone: "muted" },
    { text: ` ${done}/${total}`, tone: "muted" },
  ]
}

function diffSize(meta: TaskMeta, glyphs: Glyphs): Segment[] {
  const snapshot = meta.review?.snapshot
  if (!snapshot) return []
  return [
    { text: `+${snapshot.insertions}`, tone: "success" },
    { text: ` ${glyphs.minus}${snapshot.deletions}`, tone: "error" },
  ]
}

function checks(meta: TaskMeta, glyphs: Glyphs): Segment[] | undefined {
  const summary = meta.review?.checks
  const text = checksText(summary)
  if (!summary || text === undefined) return undefined
  if (summary.state === "running") return [{ text, tone: "muted" }]
  const sign: Sign =
    summary.failed > 0
      ? { icon: "✗", ascii: "x", tone: "error" }
      : summary.notRun > 0
        ? { icon: "○", ascii: "o", tone: "warning" }
        : { icon: "✓", ascii: "+", tone: "success" }
  return [{ text: `${glyphs.of(sign)} ${text}`, tone: sign.tone }]
}
