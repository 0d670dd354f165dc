import { createEffect, createMemo, createSignal, on, untrack } from "solid-js"
import type { Since } from "../../core/review-requests.ts"
import { BOARD_ROUTE, type App } from "../app.tsx"
import type { Commands } from "../board/commands.tsx"
import { REVIEW_COMMANDS, type ReviewCommandID } from "../board/keys.ts"
import { hintLine } from "../board/rebinding.ts"
import { openFollowUp } from "../dialogs/follow.ts"
import { openHelpOf } from "../dialogs/help.tsx"
import { createComments, type Place } from "./comments.tsx"
import { createCursor } from "./cursor.tsx"
import { createEarlyMoves } from "./early.tsx"
import { openFileFilter } from "./filter.tsx"
import { createFolding } from "./folding.tsx"
import { createReading } from "./reading.tsx"
import { fileRows, findingRows, judgedComment, overhang, type Judged, type Row } from "./rows.ts"
import { createRulings } from "./rulings.tsx"
import { hostHighlighter, type Highlighter } from "./syntax.tsx"
import { isItem, treeOf, type Item } from "./tree.ts"

export type Review = ReturnType<typeof createReview>

/** Wide enough for both sides of a change beside each other. */
const SPLIT_CELLS = 130
const NO_LINES: readonly never[] = []
const MOVES: ReadonlySet<ReviewCommandID> = new Set([
  "kagan.review.down",
  "kagan.review.up",
  "kagan.review.scroll.down",
  "kagan.review.scroll.up",
  "kagan.review.hunk.next",
  "kagan.review.hunk.previous",
])

/** The state of one review screen: the change, the findings on it, where the person looks, and what they decide. */
export function createReview(
  app: App,
  commands: Commands,
  sessionID: string,
  highlight: Highlighter = hostHighlighter,
) {
  const [selected, setSelected] = createSignal("")
  const [pane, setPane] = createSignal<"list" | "diff">("diff")
  const [cells, setCells] = createSignal(40)
  const [height, setHeight] = createSignal(10)
  const [filter, setFilter] = createSignal("")
  const [layout, setLayout] = createSignal<"unified" | "split">()
  const folding = createFolding(setSelected)
  const [marks, setMarks] = createSignal<ReadonlyMap<string, boolean>>(new Map())

  const card = () => app.board.card(sessionID)
  const snapshot = () => card()?.entry.meta.review?.snapshot
  const generation = () => card()?.entry.meta.generation ?? 1
  const reading = createReading(app, sessionID, snapshot, highlight)
  const comments = createComments(app, sessionID, card)
  const rulings = createRulings(app, sessionID, card, () => nextFinding(1))

  const findings = createMemo((): readonly Judged[] => {
    const given = card()?.validator()?.rulings ?? []
    return (card()?.validator()?.findings ?? []).map((finding) => {
      const ruling = given.find((candidate) => candidate.finding === finding.id)
      return ruling ? { finding, ruling } : { finding }
    })
  })
  const judged = createMemo((): readonly Judged[] => [...findings(), ...comments.all().map(judgedComment)])
  const isOpen = ({ finding, ruling }: Judged) => !ruling && !rulings.isSent(finding.id)

  const viewed = createMemo((): ReadonlySet<string> => {
    const set = new Set(reading.viewedAtFirst())
    for (const [path, on] of marks()) {
      if (on) set.add(path)
      else set.delete(path)
    }
    return set
  })

  const entries = createMemo(() =>
    treeOf({
      files: reading.files(),
      left: reading.left(),
      judged: judged(),
      filter: filter(),
      viewed: viewed(),
      folded: folding.folders(),
      isOpen,
    }),
  )
  const items = createMemo((): readonly Item[] => entries().filter(isItem))
  const places = createMemo(() => new Map(items().map(({ key }, place) => [key, place])))
  const index = createMemo(() => places().get(selected()) ?? 0)
  const item = () => (selected() === "" ? undefined : items()[index()])
  const path = createMemo(() => {
    const here = item()
    return here?.kind === "file" ? here.file.path : here?.kind === "finding" ? here.path : undefined
  })
  const files = createMemo(() => new Map(reading.files().map((file) => [file.path, file])))
  const entryOf = (wanted: string | undefined) => (wanted === undefined ? undefined : files().get(wanted))
  const shownFile = createMemo(() => {
    const wanted = path()
    return wanted === undefined ? undefined : reading.file(wanted)
  })
  createEffect(() => {
    const file = entryOf(path())
    if (file) void reading.want(file.path, file.from)
  })

  const isSplit = () => (layout() ?? (cells() >= SPLIT_CELLS ? "split" : "unified")) === "split"
  /** Findings on the file that is shown, or those that stand nowhere in the diff. */
  const byPath = createMemo(() => {
    const found = new Map<string | undefined, Judged[]>()
    for (const one of items()) {
      if (one.kind !== "finding") continue
      const here = found.get(one.path)
      if (here) here.push(one.judged)
      else found.set(one.path, [one.judged])
    }
    return found
  })
  const boxes = createMemo((): readonly Judged[] => byPath().get(path()) ?? NO_LINES)
  const rows = createMemo((): readonly Row[] => {
    const wanted = path()
    const shape = {
      cells: cells(),
      split: isSplit(),
      folded: folding.hunksOf(wanted),
      generation: generation(),
    }
    if (item() === undefined) return NO_LINES
    if (wanted === undefined) return boxes().flatMap((one) => findingRows(one, shape))
    return fileRows(shownFile()?.lines ?? NO_LINES, boxes(), shape)
  })
  const cursor = createCursor(rows, height)

  // Another file begins at its top; a finding of it, once its line is there, is gone to.
  createEffect(on(path, () => cursor.begin()))
  const reply = createMemo(() => shownFile()?.reply)
  createEffect(
    on([reply, selected], () => {
      const here = untrack(item)
      if (here?.kind === "finding") untrack(() => cursor.finding(here.judged.finding.id))
    }),
  )
  // The first that has to be ruled on, as soon as there is a list.
  createEffect(() => {
    if (selected() !== "" || items().length === 0) return
    if (reading.files().length === 0 && reading.problem() === undefined) return
    const first = items().find((one) => one.kind === "finding" && isOpen(one.judged)) ?? items()[0]
    if (first) setSelected(first.key)
  })
  createEffect(() => {
    for (const row of rows().slice(cursor.top(), cursor.top() + height()))
      if (row.kind === "finding") rulings.saw(row.finding)
  })

  /** The lines that are to be moved in are on their way; so is the list at first. */
  const isWaiting = createMemo(() => {
    if (selected() === "") return reading.loading()
    return pane() === "diff" && entryOf(path()) !== undefined && shownFile() === undefined
  })
  const early = createEarlyMoves(isWaiting)

  function select(next: number) {
    const wanted = items()[Math.max(0, Math.min(next, items().length - 1))]
    if (!wanted) return
    setSelected(wanted.key)
    if (wanted.kind === "finding") cursor.finding(wanted.judged.finding.id)
  }

  /** What a ruling key is about: the finding at the cursor, else the one that is selected in the list. */
  function current(): Judged | undefined {
    const here = item()
    const atCursor = cursor.onFinding()
    if (pane() === "diff" && atCursor !== undefined) return judged().find(({ finding }) => finding.id === atCursor)
    if (here?.kind === "finding") return here.judged
    return atCursor === undefined ? undefined : judged().find(({ finding }) => finding.id === atCursor)
  }

  function nextFinding(by: 1 | -1) {
    const list = items()
    const from = list.findIndex(({ key }) => key === `f:${cursor.onFinding() ?? ""}`)
    const start = from >= 0 ? from : index()
    for (let n = 1; n <= list.length; n++) {
      const next = (start + by * n + list.length * n) % list.length
      const candidate = list[next]
      if (candidate?.kind !== "finding") continue
      if (by === 1 && !isOpen(candidate.judged)) continue
      return select(next)
    }
    const { findings: all = 0 } = card()?.entry.meta.review ?? {}
    const unread = findings().length < all
    if (by === 1)
      app.tell({ level: "info", text: unread ? "the findings are being read" : allRuled(), key: "all ruled" })
    return undefined
  }

  function allRuled(): string {
    const back = items().some((one) => one.kind === "finding" && one.judged.ruling?.disposition === "fix")
    const next = hintLine(app.rebinding, [
      back ? ["kagan.review.sendBack", "sends back what is to be fixed"] : ["kagan.review.approve", "approves"],
    ])
    return `every finding is ruled${next === "" ? "" : `: ${next}`}`
  }

  function nextFile(by: 1 | -1, only: (path: string) => boolean = () => true) {
    const list = items()
    for (let n = index() + by; n >= 0 && n < list.length; n += by) {
      const one = list[n]!
      if (one.kind === "file" && only(one.file.path)) return select(n)
    }
    return undefined
  }

  function vertical(by: 1 | -1) {
    if (pane() === "list") select(index() + by)
    else if (cursor.anchor()) cursor.extend(by)
    else cursor.step(by)
  }

  function page(by: 1 | -1) {
    if (pane() === "list") select(index() + by * Math.max(1, height() - 2))
    else {
      cursor.scroll(by * Math.max(1, height() - 2))
      cursor.step(by * Math.max(1, height() - 2))
    }
  }

  /** Where `c` puts a comment: the marked lines, the box's place, or the file of the list. */
  function placeHere(): Place | string {
    const file = path()
    const here = item()
    if (pane() === "list" && here?.kind === "file") return { location: { path: here.file.path } }
    const row = cursor.row()
    if (row?.kind === "finding" || (pane() === "list" && here?.kind === "finding")) {
      const { finding, comment } = current()!
      const { location } = finding
      return location ? { location, ...(comment?.side ? { side: comment.side } : {}) } : {}
    }
    if (file === undefined) return {}
    const lines = cursor.lines()
    // Of a range the lines after the change count, if it has any.
    const after = lines.filter((line) => line.new !== undefined)
    const [first, last] = after.length > 0 ? [after[0]!.new!, after.at(-1)!.new!] : [lines[0]?.old, lines.at(-1)?.old]
    if (first === undefined || last === undefined) return { location: { path: file } }
    return {
      location: { path: file, line: first, ...(last > first ? { endLine: last } : {}) },
      ...(after.length > 0 ? {} : { side: "old" as const }),
      quote: (after.length > 0 ? after : lines)[0]!.text,
    }
  }

  function comment() {
    if (isWaiting())
      return app.tell({ level: "info", text: "its lines are being read: c again in a moment", key: "no place" })
    if (reading.since() !== "base")
      return app.tell({
        level: "warning",
        text: "comments stand on the whole change (d goes back to it)",
        key: "since",
      })
    const place = placeHere()
    if (typeof place === "string") return app.tell({ level: "warning", text: place, key: "no place" })
    cursor.clear()
    return comments.add(place)
  }

  function onComment(act: (comment: NonNullable<Judged["comment"]>) => void) {
    const own = current()?.comment
    if (own) act(own)
    else app.tell({ level: "warning", text: "no comment of yours is selected", key: "no comment" })
  }

  function toggleViewed() {
    const file = entryOf(path())
    if (!file) return app.tell({ level: "warning", text: "no file is selected", key: "no file" })
    const isViewed = !viewed().has(file.path)
    setMarks((known) => new Map([...known, [file.path, isViewed]]))
    void app
      .ask("review.viewed", { sessionID, path: file.path, object: file.object, viewed: isViewed })
      .then((answer) => {
        if (answer.ok) return
        setMarks((known) => new Map([...known, [file.path, !isViewed]]))
        app.tell({ level: "error", text: `not marked: ${answer.error.text}`, key: "viewed" })
      })
    if (isViewed) nextFile(1, (one) => !viewed().has(one))
    return undefined
  }

  const STARTS: Readonly<Record<Since, string>> = {
    base: "the whole change",
    generation: "what changed since the last iteration",
    look: "what changed since your last look",
  }
  function nextSince() {
    const list = (["base", "generation", "look"] as const).filter(
      (one) => one === "base" || reading.otherStarts().includes(one),
    )
    if (list.length < 2)
      return app.tell({ level: "info", text: "there is nothing before this snapshot to compare with", key: "since" })
    const next = list[(list.indexOf(reading.since()) + 1) % list.length]!
    reading.setSince(next)
    return app.tell({ level: "info", text: `shown: ${STARTS[next]}`, key: "since" })
  }

  function fold() {
    const here = item()
    if (pane() === "diff" || here?.kind === "finding") folding.hunk(path(), rows, cursor)
    else if (here) folding.folder(here, entries())
  }

  /** Opens what is closed at the cursor: a folder, a folded hunk, a file that is large or no text. */
  function open() {
    const here = item()
    if (pane() === "list") {
      if (here?.kind === "folder") return folding.folder(here, entries())
      return setPane("diff")
    }
    const file = entryOf(path())
    if (file && shownFile()?.reply?.folded !== undefined) return void reading.want(file.path, file.from, true)
    const row = cursor.row()
    if (row?.kind === "hunk") return fold()
    return setPane("list")
  }

  function sideways(by: 1 | -1) {
    if (pane() === "list") return by === 1 && setPane("diff")
    if (by === -1 && cursor.shift() === 0) return setPane("list")
    return cursor.shiftBy(by * 8, overhang(rows(), { cells: cells(), split: isSplit() }))
  }

  function approve() {
    commands.run("kagan.approve", card())
    // What stands in the way is gone to.
    if (commands.when("kagan.approve", card()) !== undefined && judged().some(isOpen)) nextFinding(1)
  }

  function dismiss() {
    if (app.notices.shown().length > 0) app.notices.dismissAll()
    else close()
  }

  function close() {
    if (cursor.anchor()) return cursor.clear()
    if (filter() !== "") return setFilter("")
    return app.host.route.navigate(BOARD_ROUTE)
  }

  const onCard = (id: Parameters<Commands["run"]>[0]) => () => commands.run(id, card())
  const table: Readonly<Record<ReviewCommandID, () => void>> = {
    "kagan.review.down": () => vertical(1),
    "kagan.review.up": () => vertical(-1),
    "kagan.review.scroll.down": () => page(1),
    "kagan.review.scroll.up": () => page(-1),
    "kagan.review.right": () => void sideways(1),
    "kagan.review.left": () => void sideways(-1),
    "kagan.review.hunk.next": () => cursor.hunk(1),
    "kagan.review.hunk.previous": () => cursor.hunk(-1),
    "kagan.review.file.next": () => nextFile(1),
    "kagan.review.file.previous": () => nextFile(-1),
    "kagan.review.finding.next": () => nextFinding(1),
    "kagan.review.finding.previous": () => nextFinding(-1),
    "kagan.review.panes": () => void setPane(pane() === "list" ? "diff" : "list"),
    "kagan.review.show": () => void open(),
    "kagan.review.fold": fold,
    "kagan.review.filter": () => openFileFilter(app, filter(), setFilter),
    "kagan.review.layout": () => void setLayout(isSplit() ? "unified" : "split"),
    "kagan.review.since": () => nextSince(),
    "kagan.review.viewed": () => toggleViewed(),
    "kagan.review.range": () => cursor.mark(),
    "kagan.review.range.down": () => cursor.extend(1),
    "kagan.review.range.up": () => cursor.extend(-1),
    "kagan.review.comment": () => comment(),
    "kagan.review.comment.task": () => comments.add({}),
    "kagan.review.comment.edit": () => onComment(comments.edit),
    "kagan.review.comment.delete": () => onComment(comments.remove),
    "kagan.review.fix": () => rulings.rule(current(), "fix"),
    "kagan.review.intended": () => rulings.rule(current(), "intended"),
    "kagan.review.ignore": () => rulings.rule(current(), "ignored"),
    "kagan.review.several": () => rulings.ruleAll(findings().filter(isOpen)),
    "kagan.review.approve": approve,
    "kagan.review.sendBack": onCard("kagan.sendBack"),
    "kagan.review.waive": onCard("kagan.waive"),
    "kagan.review.again": onCard("kagan.retry"),
    "kagan.review.follow"() {
      const task = card()
      if (task) openFollowUp(app, task, current()?.finding)
    },
    "kagan.review.open": onCard("kagan.open"),
    "kagan.review.tell": onCard("kagan.tell"),
    "kagan.review.help": () => openHelpOf(app, REVIEW_COMMANDS, (id) => run(id as ReviewCommandID)),
    "kagan.review.dismiss": () => dismiss(),
    "kagan.review.close": () => void close(),
  }

  function run(id: ReviewCommandID) {
    if (MOVES.has(id)) return early.make(table[id])
    early.drop()
    table[id]()
  }

  return {
    card,
    snapshot,
    generation,
    reading,
    comments,
    entries,
    items,
    index,
    item,
    path,
    filter,
    viewed,
    judged,
    findings,
    file: shownFile,
    entry: () => entryOf(path()),
    rows,
    cursor,
    pane,
    isSplit,
    select(next: number) {
      early.drop()
      select(next)
    },
    focus: setPane,
    setCells,
    setHeight,
    commands,
    run,
  }
}
