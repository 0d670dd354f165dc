import { createEffect, createMemo, createResource, createSignal, on } from "solid-js"
import type { ReplyOf } from "../../core/protocol.ts"
import type { ReviewFileReply, Since } from "../../core/review-requests.ts"
import type { App } from "../app.tsx"
import { patchLines, type CodeLine, type PatchLine } from "./lines.ts"
import { colourLines, type Coloured, type Highlighter } from "./syntax.tsx"

/** A file as far as it has been read. */
export type FileRead = {
  readonly reply?: ReviewFileReply
  readonly lines: readonly PatchLine[]
  readonly colours: ReadonlyMap<CodeLine, readonly Coloured[]>
  readonly problem?: string
}

type Listed = { readonly value?: ReplyOf<"review.files">; readonly problem?: string }

/** How many files' lines are kept; others are read again. */
const KEPT = 30

/**
 * The diff of one snapshot as it is read: the list at once, its sizes a moment later, and the lines of a file when it is
 * looked at.
 */
export function createReading(
  app: App,
  sessionID: string,
  snapshot: () => { readonly commit: string } | undefined,
  highlight: Highlighter,
) {
  const [since, setSince] = createSignal<Since>("base")
  const [sizes, setSizes] = createSignal<ReadonlyMap<string, readonly [number, number] | null>>(new Map())
  const [read, setRead] = createSignal<ReadonlyMap<string, FileRead>>(new Map())

  // What is told again is not read again: the person would lose their place.
  const source = createMemo(() => [snapshot()?.commit, since(), app.link().kind] as const, undefined, {
    equals: (a, b) => a.every((part, at) => part === b[at]),
  })
  const [list] = createResource(source, async ([commit, from, link]): Promise<Listed> => {
    if (commit === undefined) return { problem: "there is no snapshot to show" }
    if (link !== "up") return { problem: app.blocked() ?? "not connected" }
    const answer = await app.ask("review.files", { sessionID, since: from })
    return answer.ok ? { value: answer.value } : { problem: answer.error.text }
  })
  const listed = () => list.latest?.value

  const ends = () => {
    const value = listed()
    return value && { from: value.from, to: value.to }
  }

  const between = createMemo(() => `${listed()?.from} ${listed()?.to}`)
  createEffect(
    on(between, async () => {
      setRead(new Map())
      setSizes(new Map())
      const wanted = ends()
      if (!wanted) return
      const answer = await app.ask("review.sizes", { sessionID, ...wanted })
      if (wanted.from !== ends()?.from || wanted.to !== ends()?.to) return
      if (answer.ok) setSizes(new Map(answer.value.sizes))
      else app.tell({ level: "warning", text: `no sizes: ${answer.error.text}`, key: "sizes" })
    }),
  )

  function keep(path: string, file: FileRead) {
    setRead((known) => {
      const next = new Map(known)
      next.delete(path)
      next.set(path, file)
      if (next.size > KEPT) next.delete(next.keys().next().value!)
      return next
    })
  }

  const asked = new Set<string>()
  /** Reads the file's lines, once; `whole`: also when it is large. */
  async function want(path: string, oldPath: string | undefined, whole = false) {
    const wanted = ends()
    if (!wanted || (!whole && read().has(path))) return
    const key = `${wanted.from} ${wanted.to} ${whole} ${path}`
    if (asked.has(key)) return
    asked.add(key)
    const answer = await app.ask("review.file", {
      sessionID,
      ...wanted,
      path,
      ...(oldPath ? { oldPath } : {}),
      ...(whole ? { whole } : {}),
    })
    asked.delete(key)
    if (wanted.from !== ends()?.from || wanted.to !== ends()?.to) return
    if (!answer.ok) return keep(path, { lines: [], colours: new Map(), problem: answer.error.text })
    const file: FileRead = { reply: answer.value, lines: patchLines(answer.value), colours: new Map() }
    keep(path, file)
    try {
      const colours = await colourLines(file.lines, path, highlight)
      if (colours.size > 0 && read().get(path) === file) keep(path, { ...file, colours })
    } catch (cause) {
      // It is read without colours.
      app.tell({ level: "info", text: `no syntax colours: ${String(cause)}`, key: "syntax" })
    }
  }

  return {
    since,
    setSince,
    loading: () => list.loading,
    problem: () => list.latest?.problem,
    files: () => listed()?.files ?? [],
    /** Marked as viewed when the list was read. */
    viewedAtFirst: () => listed()?.viewed ?? [],
    left: () => listed()?.left ?? [],
    otherStarts: () => listed()?.since ?? [],
    size: (path: string) => sizes().get(path),
    total: () => {
      let [insertions, deletions] = [0, 0]
      for (const size of sizes().values()) {
        insertions += size?.[0] ?? 0
        deletions += size?.[1] ?? 0
      }
      return sizes().size > 0 ? ([insertions, deletions] as const) : undefined
    },
    file: (path: string) => read().get(path),
    want,
  }
}
