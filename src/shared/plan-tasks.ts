import { stat } from "node:fs/promises"
import { join } from "node:path"
import { cleanTitle, type NewTask, type Plan } from "../core/draft.ts"
import type { Options } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import { branchName, folderName } from "../core/slug.ts"
import type { CreateFailure } from "./drafts.ts"
import { resolveBase } from "./git/history.ts"
import { worktreeRootOf, type Repository } from "./git/repository.ts"
import type { Store } from "./store.ts"

export type PlanParts = {
  readonly repository: Repository
  readonly store: Store
  options(): Options
}

/** Everything that is chosen once per task. Nothing is taken unless all of them can be planned. */
export async function planTasks(
  parts: PlanParts,
  wanted: readonly NewTask[],
): Promise<Result<readonly Plan[], CreateFailure>> {
  const { repository, store } = parts
  if (!repository.hasCommit)
    return err({ kind: "refused", text: "this repository has no commit yet: make a first one, then create the task" })
  const branches = await repository.branches()
  if (!branches.ok) return err({ kind: "failed", text: branches.error.text })
  const bases = new Map<string, { readonly branch: string; readonly commit: string }>()
  const onBoard = new Set(await store.recordNumbers())
  for (const [index, task] of wanted.entries()) {
    const checked = await checkOne(parts, wanted, index, onBoard, bases)
    if (!checked.ok) return err({ ...checked.error, text: about(wanted, task, checked.error.text) })
  }
  const first = await store.nextTaskNumber(wanted.length)
  if (!first.ok) return err({ kind: "failed", text: first.error.text })
  const { worktree: options } = parts.options()
  const root = options.root ?? worktreeRootOf(repository)
  const taken = branches.value.map((branch) => branch.name)
  const plans: Plan[] = []
  for (const [index, task] of wanted.entries()) {
    const taskNumber = first.value + index
    const title = titleOf(task)
    const base = bases.get(task.baseBranch ?? "")!
    let folder = folderName(taskNumber, title)
    while (await exists(join(root, folder))) folder = folderName(taskNumber, title, [folder])
    const branch = branchName(options.branchPrefix, taskNumber, title, taken)
    taken.push(branch)
    plans.push({ taskNumber, branch, worktree: join(root, folder), baseBranch: base.branch, baseCommit: base.commit })
  }
  return ok(plans)
}

async function checkOne(
  { repository }: PlanParts,
  wanted: readonly NewTask[],
  index: number,
  onBoard: ReadonlySet<number>,
  bases: Map<string, { readonly branch: string; readonly commit: string }>,
): Promise<Result<void, CreateFailure>> {
  const refuse = (text: string) => err<CreateFailure>({ kind: "refused", text })
  const { title, baseBranch = "", dependsOn = [], after = [] } = wanted[index]!
  if (!cleanTitle(title)) return refuse("a title needs at least one visible character")
  const unknown = dependsOn.find((number) => !onBoard.has(number))
  if (unknown !== undefined) return refuse(`it is to wait for #${unknown}, which is not on the board`)
  const later = after.find((position) => !Number.isInteger(position) || position < 0 || position >= index)
  if (later !== undefined) return refuse("it can only wait for a task that stands before it")
  if (bases.has(baseBranch)) return ok()
  const base = baseBranch ? ok({ branch: baseBranch }) : await repository.defaultBase()
  if (!base.ok) return err({ kind: "failed", text: base.error.text })
  if (!base.value) return refuse("nothing says which branch is the main one: choose a base branch")
  const commit = await resolveBase(repository, base.value.branch)
  if (!commit.ok) return refuse(commit.error.text)
  bases.set(baseBranch, { branch: base.value.branch, commit: commit.value })
  return ok()
}

/** The reason with the task that it is about, where there are several. */
export function about(all: readonly NewTask[], { title }: NewTask, text: string): string {
  return all.length === 1 ? text : `"${title.trim()}": ${text}`
}

/** The title as it is stored; empty when nothing of it is visible. */
export function titleOf({ title }: NewTask): string {
  return cleanTitle(title) ?? ""
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
