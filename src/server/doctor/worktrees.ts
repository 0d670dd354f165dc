import { access, constants, readdir, stat, statfs } from "node:fs/promises"
import { dirname, join } from "node:path"
import { readDraft } from "../../core/draft.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { homeRelative } from "../../core/settings.ts"
import { listRecords, type WorktreeRecord } from "../../shared/git/ownership.ts"
import { removeWorktree } from "../../shared/git/worktree-remove.ts"
import { listWorktrees, worktreeState, type WorktreeEntry } from "../../shared/git/worktree-state.ts"
import type { Found, Patient } from "./doctor.ts"
import { readRecords, type ReadRecord } from "./records.ts"

const LITTLE_SPACE = 1024 ** 3

/** The worktrees, their folder, and the refs that keep snapshots. */
export async function worktrees(patient: Patient): Promise<readonly Found[]> {
  const { repository } = patient
  const records = await readRecords(patient.store)
  const entries = await listWorktrees(repository)
  if (!entries.ok) return [{ id: "worktrees", group: "Worktrees", level: "trouble", text: entries.error.text }]
  const owned = await listRecords(repository.commonDir)
  const expected = await expectedPaths(patient, records)
  const parts = await Promise.all([
    place(patient.worktreesRoot, patient.places.env["HOME"]),
    ...owned.map((record) => own(patient, record, expected, entries.value)),
    foreign(patient, owned, entries.value),
    refs(patient, records),
  ])
  return parts.flat()
}

/** The folders that tasks and drafts name. */
async function expectedPaths({ store }: Patient, records: readonly ReadRecord[]): Promise<ReadonlySet<string>> {
  const drafts = await store.names(store.paths.drafts)
  const made = await Promise.all(
    (drafts.ok ? drafts.value : []).map(async (name) => {
      const read = await store.readJson(join(store.paths.drafts, name))
      const draft = read.ok ? readDraft(read.value) : undefined
      return (draft?.made ?? []).map(({ worktree }) => worktree)
    }),
  )
  return new Set([...records.flatMap(({ worktree }) => worktree ?? []), ...made.flat()])
}

async function place(root: string, home: string | undefined): Promise<Found[]> {
  const there = await nearest(root)
  const writable = await access(there, constants.W_OK).then(
    () => true,
    () => false,
  )
  const base = { id: "root", group: "Worktrees" } as const
  if (!writable) {
    const cause = "No task can be created: make it writable, or set worktree.root (,)."
    return [{ ...base, level: "trouble", text: `${there} cannot be written`, cause }]
  }
  const room = await statfs(there)
  const free = room.bavail * room.bsize
  const text = `worktrees stand in ${homeRelative(root, home)} (${(free / 1024 ** 3).toFixed(1)} GiB free)`
  if (free >= LITTLE_SPACE) return [{ ...base, level: "fine", text }]
  return [
    { ...base, level: "trouble", text, cause: "Each task is a whole checkout: make room, or archive and remove some." },
  ]
}

/** The folder itself, or the nearest one above it that is there. */
async function nearest(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined)
  return found || dirname(folder) === folder ? folder : nearest(dirname(folder))
}

async function own(
  { repository }: Patient,
  record: WorktreeRecord,
  expected: ReadonlySet<string>,
  entries: readonly WorktreeEntry[],
): Promise<Found[]> {
  const { path, branch } = record
  const state = await worktreeState(repository, path, branch, entries)
  if (!state.ok) return [{ id: `worktree:${path}`, group: "Worktrees", level: "trouble", text: state.error.text }]
  if (state.value.kind === "broken") {
    return [
      {
        id: `worktree:${path}`,
        group: "Worktrees",
        level: "trouble",
        text: `git has lost its link to ${path}`,
        cause: "The repository or the folder was moved.",
        repair: "has git write the link anew",
        mend: () => relink(repository, path),
      },
    ]
  }
  if (expected.has(path)) return []
  return [
    {
      id: `worktree:${path}`,
      group: "Worktrees",
      level: "note",
      text: `${path} belongs to no task`,
      cause: `Its task is gone; its branch ${branch} stays in any case.`,
      repair: "removes the folder, unless something in it would be lost",
      mend: async () => {
        const removed = await removeWorktree({ repo: repository, path })
        return removed.ok ? ok(`removed ${path}; the branch ${branch} is still there`) : err(removed.error.text)
      },
    },
  ]
}

async function relink(repository: Patient["repository"], path: string): Promise<Result<string, string>> {
  const done = await repository.git.run(["worktree", "repair", "--", path], { cwd: repository.commonDir })
  if (!done.ok) return err(done.error.text)
  const state = await worktreeState(repository, path)
  if (!state.ok) return err(state.error.text)
  return state.value.kind === "broken" ? err(`${path} could not be linked again`) : ok(`linked ${path} again`)
}

/** What stands among our worktrees and is not ours is only named. */
async function foreign(
  { worktreesRoot }: Patient,
  owned: readonly WorktreeRecord[],
  entries: readonly WorktreeEntry[],
): Promise<Found[]> {
  const ours = new Set(owned.map(({ path }) => path))
  const names = await readdir(worktreesRoot).catch(() => [])
  const paths = new Set([
    ...names.map((name) => join(worktreesRoot, name)),
    ...entries.map(({ path }) => path).filter((path) => path.startsWith(`${worktreesRoot}/`)),
  ])
  return [...paths]
    .filter((path) => !ours.has(path))
    .toSorted()
    .map((path) => ({
      id: `foreign:${path}`,
      group: "Worktrees",
      level: "note",
      text: `${path} was not made by Kagan`,
      cause: "It is left alone. If you know it is not needed, remove it by hand.",
    }))
}

/** Snapshots of tasks that nobody knows any more. */
async function refs({ repository }: Patient, records: readonly ReadRecord[]): Promise<Found[]> {
  const { git, commonDir } = repository
  const listed = await git.run(["for-each-ref", "--format=%(refname) %(objectname)", "refs/kagan/"], { cwd: commonDir })
  if (!listed.ok) return [{ id: "refs", group: "Worktrees", level: "trouble", text: listed.error.text }]
  const known = new Set(records.map(({ taskNumber }) => taskNumber))
  const lines = listed.value.stdout.split("\n").filter(Boolean)
  const found = await Promise.all(
    lines.map(async (line): Promise<Found[]> => {
      const [ref = "", commit = ""] = line.split(" ")
      const number = Number(/^refs\/kagan\/(\d+)\//.exec(ref)?.[1])
      if (!number || known.has(number)) return []
      const holding = await git.run(["for-each-ref", "--format=%(refname)", `--contains=${commit}`, "refs/heads/"], {
        cwd: commonDir,
      })
      const base = { id: `ref:${ref}`, group: "Worktrees", level: "note", text: `${ref} belongs to no task` } as const
      if (!holding.ok || holding.value.stdout.trim() === "") {
        return [{ ...base, cause: `No branch has its commit: it stays. To drop it: git update-ref -d ${ref}` }]
      }
      return [
        {
          ...base,
          cause: "Its commit is in a branch, so that nothing is lost without it.",
          repair: "removes the ref",
          mend: async () => {
            const gone = await git.run(["update-ref", "-d", ref, commit], { cwd: commonDir })
            return gone.ok ? ok(`removed ${ref}`) : err(gone.error.text)
          },
        },
      ]
    }),
  )
  return found.flat()
}
