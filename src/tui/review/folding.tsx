import { createSignal } from "solid-js"
import type { Cursor } from "./cursor.tsx"
import type { Row } from "./rows.ts"
import { isItem, type Entry, type Item } from "./tree.ts"

const NONE: ReadonlySet<number> = new Set()

/** Which folders of the list and which hunks of the files are folded. */
export function createFolding(select: (key: string) => void) {
  const [folders, setFolders] = createSignal<ReadonlySet<string>>(new Set())
  const [hunks, setHunks] = createSignal<ReadonlyMap<string, ReadonlySet<number>>>(new Map())

  return {
    folders,
    hunksOf: (path: string | undefined): ReadonlySet<number> => hunks().get(path ?? "") ?? NONE,

    /** Folds or unfolds the folder at an item of the list, or the one that its file is in. */
    folder(here: Exclude<Item, { kind: "finding" }>, entries: readonly Entry[]) {
      const folder = here.kind === "folder" ? here.folder : folderOfPath(entries, here.file.path)
      setFolders((known) => {
        const folded = new Set(known)
        if (!folded.delete(folder)) folded.add(folder)
        return folded
      })
      if (here.kind === "file") select(`d:${folder}`)
      else select(`p:${here.files[0]!.path}`)
    },

    /** Folds or unfolds the hunk at the cursor, which then stands on its head. */
    hunk(path: string | undefined, rows: () => readonly Row[], cursor: Cursor) {
      const row = cursor.row()
      const hunk =
        row?.kind === "hunk" ? row.hunk : row?.kind === "code" ? (row.sides[1] ?? row.sides[0])!.hunk : undefined
      if (path === undefined || hunk === undefined) return
      setHunks((known) => {
        const folded = new Set(known.get(path))
        if (!folded.delete(hunk)) folded.add(hunk)
        return new Map([...known, [path, folded]])
      })
      const head = rows().findIndex((one) => one.kind === "hunk" && one.hunk === hunk)
      if (head >= 0) cursor.put(head)
    },
  }
}

function folderOfPath(entries: readonly Entry[], wanted: string): string {
  const at = entries.findIndex((entry) => isItem(entry) && entry.key === `p:${wanted}`)
  const heading = entries.slice(0, at).findLast((entry) => !isItem(entry))
  const name = heading && !isItem(heading) ? heading.heading : ""
  return name.startsWith("Files ") ? "" : name
}
