import { mkdir, readdir } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "vitest"
import type { Draft, NewTask } from "../../src/core/draft.ts"
import { DEFAULT_OPTIONS } from "../../src/core/options.ts"
import { err, ok } from "../../src/core/result.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { createTasks, finishDrafts, type CreateParts } from "../../src/shared/create-task.ts"
import { listDrafts } from "../../src/shared/drafts.ts"
import { listWorktrees } from "../../src/shared/git/worktree-state.ts"
import { openStore } from "../../src/shared/store.ts"
import { makeTasks } from "../../src/shared/tasks.ts"
import { memoryHost } from "../kit/memory-host.ts"
import { bench, value, type Bench } from "./git/throwaway.ts"

/** Called with each effect of a creation, before it happens: may refuse it, or throw as a crash does. */
type Watch = (effect: string) => string | undefined

export type Workshop = {
  readonly it: Bench
  /** As a process that has just started: what an earlier one held in memory is gone. */
  start(watch?: Watch): CreateParts
  /** Everything that a creation can leave: branches, worktrees, sessions, records, drafts. */
  left(): Promise<Record<"branches" | "worktrees" | "folders" | "sessions" | "records", readonly string[]>>
  drafts(): Promise<readonly Draft[]>
  [Symbol.asyncDispose](): Promise<void>
}

/** A real repository and a host without a process, in which creations can be made to fail or to die. */
export async function workshop(): Promise<Workshop> {
  const it = await bench()
  const memory = memoryHost()
  const root = join(it.side, "tasks")
  await mkdir(root)
  const store = openStore(join(it.repo.dir, ".git"), { clock: systemClock })

  function start(watch: Watch = () => undefined): CreateParts {
    const { metadata } = memory
    const refusal = (text: string) => err({ kind: "server_error" as const, text, status: 500 })
    const tasks = makeTasks({
      host: memory.host,
      store,
      repo: "repo-1",
      metadata: {
        async create(input) {
          const text = watch("session")
          return text ? refusal(text) : metadata.create(input)
        },
        async write(sessionID, change) {
          const text = watch("metadata")
          return text ? refusal(text) : metadata.write(sessionID, change)
        },
      },
    })
    const git = {
      ...it.git,
      run: (async (args: readonly string[], options: never) => {
        const text = watch(`git ${args.find((arg) => /^(update-ref|add)$/.test(arg)) ?? "question"}`)
        return text ? err({ kind: "failed" as const, text, code: 1, command: "git" }) : it.git.run([...args], options)
      }) as typeof it.git.run,
    }
    return {
      repository: { ...it.opened, git },
      host: memory.host,
      store,
      tasks,
      clock: systemClock,
      repo: "repo-1",
      options: () => ({ ...DEFAULT_OPTIONS, worktree: { ...DEFAULT_OPTIONS.worktree, root } }),
      async ensureInstance() {
        const text = watch("instance")
        return text ? err({ text }) : ok()
      },
      permission: () => [],
    }
  }

  return {
    it,
    start,
    async left() {
      const sessions = await memory.host.sessions(it.repo.dir)
      const branches = (await it.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads")).trim().split("\n")
      return {
        branches: branches.filter((name) => name !== "main"),
        worktrees: value(await listWorktrees(it.opened))
          .map(({ path }) => path)
          .filter((path) => path !== it.repo.dir),
        folders: await readdir(root),
        sessions: sessions.ok ? sessions.value.map(({ title }) => title) : ["unknown"],
        records: (await store.recordNumbers()).map(String),
      }
    },
    drafts: () => listDrafts({ store, host: memory.host }),
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  }
}

export const NOTHING = { branches: [], worktrees: [], folders: [], sessions: [], records: [] }
export const three: readonly NewTask[] = [
  { title: "Parse the file", description: "" },
  { title: "Check it", description: "x".repeat(2_000), after: [0] },
  { title: "Show it", description: "", after: [0, 1] },
]
export const draft = (tasks: readonly NewTask[], id = "d-1"): Draft => ({ id, tasks, at: 1 })
export const titles = three.map(({ title }) => title)

export async function refusedWith(parts: CreateParts, wanted: Draft): Promise<string> {
  const made = await createTasks(parts, wanted)
  if (made.ok) throw new Error("it was created")
  return made.error.text
}

/** How many effects the creation of the first two of `three` has. */
export async function countEffects(): Promise<number> {
  await using counting = await workshop()
  let effects = 0
  await createTasks(
    counting.start(() => void effects++),
    draft(three.slice(0, 2)),
  )
  return effects
}

/** A process dies at this effect of the creation of two tasks; the next one's look makes each of them, once. */
export async function diesAt(at: number): Promise<void> {
  await using shop = await workshop()
  let seen = 0
  const dying = shop.start(() => {
    if (++seen >= at) throw new Error("died")
    return undefined
  })
  await expect(createTasks(dying, draft(three.slice(0, 2))), `effect ${at}`).rejects.toThrow("died")
  const made: number[] = []
  await finishDrafts(shop.start(), (_draft, tasks) => made.push(...tasks.map(({ meta }) => meta.taskNumber)))
  const { branches, worktrees, folders, sessions, records } = await shop.left()
  expect({ at, sessions, made }).toEqual({ at, sessions: titles.slice(0, 2), made: [1, 2] })
  expect(
    [branches, worktrees, folders, records].map((list) => list.length),
    `effect ${at}`,
  ).toEqual([2, 2, 2, 2])
  expect(await shop.drafts()).toEqual([])
}
