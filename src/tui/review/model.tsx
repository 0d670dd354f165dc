import { createMemo, createResource, createSignal } from "solid-js"
import type { DiffFileReply, ReplyOf } from "../../core/protocol.ts"
import { rulingNeedsReason } from "../../core/rules.ts"
import type { Disposition } from "../../core/task.ts"
import { openHelpOf } from "../dialogs/help.tsx"
import { openOwnReason } from "../dialogs/reason.tsx"
import type { App } from "../app.tsx"
import { BOARD_ROUTE } from "../app.tsx"
import type { Commands } from "../board/commands.tsx"
import { REVIEW_COMMANDS, type ReviewCommandID } from "../board/keys.ts"
import { findingAt, fileRows, hunksOf, type Judged, type Row } from "./rows.ts"

/** What can stand in the list: findings first, since they are what has to be ruled on. */
export type Item =
  | { readonly kind: "finding"; readonly judged: Judged }
  | { readonly kind: "file"; readonly file: DiffFileReply; readonly findings: readonly Judged[] }

export type Review = ReturnType<typeof createReview>

/** The state of one review screen: the diff, the findings, where the person looks, and the rulings. */
export function createReview(app: App, commands: Commands, sessionID: string) {
  const [at, setAt] = createSignal(0)
  const [top, setTop] = createSignal(0)
  const [pane, setPane] = createSignal<"list" | "diff">("list")
  const [cells, setCells] = createSignal(40)
  const [rowsShown, setRowsShown] = createSignal(10)
  /** Ruled on, not answered yet: the next one is selected at once, since the next key is meant for it. */
  const sent = new Set<string>()
  const card = () => app.board.card(sessionID)
  const snapshot = () => card()?.entry.meta.review?.snapshot

  const [diff] = createResource(
    () => [snapshot()?.commit, app.link().kind] as const,
    async ([commit, link]): Promise<{ value?: ReplyOf<"review.diff">; problem?: string }> => {
      if (commit === undefined) return { problem: "there is no snapshot to show" }
      if (link !== "up") return { problem: app.blocked() ?? "not connected" }
      const answer = await app.ask("review.diff", { sessionID })
      return answer.ok ? { value: answer.value } : { problem: answer.error.text }
    },
  )

  const judged = createMemo((): readonly Judged[] => {
    const rulings = card()?.validator()?.rulings ?? []
    return (card()?.validator()?.findings ?? []).map((finding) => {
      const ruling = rulings.find((candidate) => candidate.finding === finding.id)
      return ruling ? { finding, ruling } : { finding }
    })
  })
  const files = () => diff()?.value?.files ?? []
  const fileOf = (path: string | undefined) => files().find((file) => file.path === path || file.from === path)
  const inFile = (file: DiffFileReply) =>
    judged().filter(({ finding }) => finding.location && fileOf(finding.location.path)?.path === file.path)

  const items = createMemo((): readonly Item[] => [
    ...judged().map((one): Item => ({ kind: "finding", judged: one })),
    ...files().map((file): Item => ({ kind: "file", file, findings: inFile(file) })),
  ])
  const index = () => Math.max(0, Math.min(at(), items().length - 1))
  const item = () => items()[index()]

  const shown = createMemo((): { file?: DiffFileReply; rows: readonly Row[] } => {
    const here = item()
    if (!here) return { rows: [] }
    if (here.kind === "file") return { file: here.file, rows: fileRows(here.file, here.findings, cells()) }
    const file = fileOf(here.judged.finding.location?.path)
    return file
      ? { file, rows: fileRows(file, inFile(file), cells()) }
      : { rows: fileRows(undefined, [here.judged], cells()) }
  })

  function select(next: number) {
    setAt(Math.max(0, Math.min(next, items().length - 1)))
    const here = item()
    const row = here?.kind === "finding" ? findingAt(shown().rows, here.judged.finding.id) : 0
    scrollTo(row < 4 ? 0 : row - 4)
  }

  function scrollTo(row: number) {
    setTop(Math.max(0, Math.min(row, shown().rows.length - rowsShown())))
  }

  /** The finding that a ruling key is about: the selected one, else the first that can be seen. */
  function current(): Judged | undefined {
    const selected = item()
    if (selected?.kind === "finding") return selected.judged
    const seen = shown().rows.slice(top(), top() + rowsShown())
    const head = seen.find((row) => row.kind === "finding")
    return head?.kind === "finding" ? judged().find(({ finding }) => finding.id === head.finding) : undefined
  }

  function nextFinding(step: 1 | -1) {
    const list = items()
    for (let n = 1; n <= list.length; n++) {
      const next = (index() + step * n + list.length * n) % list.length
      const candidate = list[next]
      if (candidate?.kind !== "finding") continue
      if (step === 1 && (candidate.judged.ruling || sent.has(candidate.judged.finding.id))) continue
      return select(next)
    }
    if (step === 1) app.tell({ level: "info", text: "every finding is ruled", key: "all ruled" })
    return undefined
  }

  function rule(disposition: Disposition) {
    const one = current()
    const task = card()
    if (!one || !task) return app.tell({ level: "warning", text: "no finding is selected", key: "no finding" })
    const why = app.unable()
    if (why !== undefined) return app.tell({ level: "warning", text: why, key: "blocked" })
    const { finding } = one
    const send = async (reason?: string) => {
      const ruling = { finding: finding.id, disposition, ...(reason === undefined ? {} : { reason }) }
      sent.add(finding.id)
      const answer = app.act(task, `ruling ${finding.id}`, "findings.rule", { sessionID, rulings: [ruling] })
      if (current()?.finding.id === finding.id) nextFinding(1)
      await answer
      sent.delete(finding.id)
    }
    if (!rulingNeedsReason(finding, disposition)) return void send()
    return openOwnReason(
      app,
      `${finding.id} is ${disposition}: why?`,
      (reason) => void send(reason),
      `${finding.severity} ${finding.kind}: ${finding.title}`,
    )
  }

  const hunk = (step: 1 | -1) => {
    const hunks = hunksOf(shown().rows)
    const next = step === 1 ? hunks.find((row) => row > top()) : hunks.findLast((row) => row < top())
    if (next !== undefined) scrollTo(next)
  }

  const onCard = (id: Parameters<Commands["run"]>[0]) => () => commands.run(id, card())
  const table: Readonly<Record<ReviewCommandID, () => void>> = {
    "kagan.review.down": () => select(index() + 1),
    "kagan.review.up": () => select(index() - 1),
    "kagan.review.scroll.down": () => scrollTo(top() + rowsShown() - 2),
    "kagan.review.scroll.up": () => scrollTo(top() - rowsShown() + 2),
    "kagan.review.line.down": () => scrollTo(top() + 1),
    "kagan.review.line.up": () => scrollTo(top() - 1),
    "kagan.review.hunk.next": () => hunk(1),
    "kagan.review.hunk.previous": () => hunk(-1),
    "kagan.review.finding.next": () => nextFinding(1),
    "kagan.review.finding.previous": () => nextFinding(-1),
    "kagan.review.panes": () => void setPane(pane() === "list" ? "diff" : "list"),
    "kagan.review.fix": () => rule("fix"),
    "kagan.review.intended": () => rule("intended"),
    "kagan.review.ignore": () => rule("ignored"),
    "kagan.review.approve": onCard("kagan.approve"),
    "kagan.review.sendBack": onCard("kagan.sendBack"),
    "kagan.review.waive": onCard("kagan.waive"),
    "kagan.review.again": onCard("kagan.retry"),
    "kagan.review.open": onCard("kagan.open"),
    "kagan.review.help": () => openHelpOf(app, REVIEW_COMMANDS, (id) => run(id as ReviewCommandID)),
    "kagan.review.close": () => app.host.route.navigate(BOARD_ROUTE),
  }

  function run(id: ReviewCommandID) {
    table[id]()
  }

  return {
    card,
    snapshot,
    diff: () => diff(),
    loading: () => diff.loading,
    items,
    index,
    item,
    judged,
    shown,
    top: () => Math.max(0, Math.min(top(), shown().rows.length - rowsShown())),
    pane,
    select,
    scrollTo,
    setCells,
    setRowsShown,
    open: () => judged().filter(({ ruling }) => !ruling).length,
    commands,
    run,
  }
}
