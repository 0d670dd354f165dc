import { checksVerdict } from "../core/checks.ts"
import type { ReplyOf, RequestFailure, RequestOf } from "../core/protocol.ts"
import { err, ok, type Result } from "../core/result.ts"
import { judgeApproval, judgeLeave, type Refusal } from "../core/rules.ts"
import { columnOf, type Merge, type Task, type TaskMeta } from "../core/task.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"

/*
 * The trust boundary: approve an exact tree, claim, merge on objects, write down, done.
 * A crash between claim and result is resolved by asking the target whether the commit is there.
 */

type Approved = Result<ReplyOf<"task.approve">, RequestFailure>

export async function approveTask(project: Project, task: Task, wanted: RequestOf<"task.approve">): Promise<Approved> {
  const { meta } = task
  const landing = await project.trees.landing(meta, wanted.snapshot, wanted.target)
  if (!landing.ok) return failed(landing.error.text)
  const { target, tip } = landing.value
  if (target === undefined) return refused({ kind: "no_target", base: meta.baseBranch })
  // What the person was shown is what lands, or nothing does.
  if (wanted.expected !== undefined && wanted.expected !== tip)
    return failed(await project.trees.moved(target, wanted.expected, tip))
  // Merged outside: the worktree may be gone already, and nothing of it is needed any more.
  const inBase = landing.value.contained
  const changed = inBase ? ok([]) : await project.trees.changed(meta)
  if (!changed.ok) return failed(changed.error.text)
  const strategy = wanted.strategy ?? project.options().merge.strategy
  let verdict = judgeApproval(meta, wanted, changed.value, inBase)
  const claimed = await project.tasks.update(meta.sessionID, (now) => {
    verdict = judgeApproval(now, wanted, changed.value, inBase)
    if (!verdict.ok) return undefined
    const claim: Merge = {
      state: "claimed",
      snapshot: wanted.snapshot,
      target,
      strategy,
      claim: { ...project.tasks.self, at: project.clock.now() },
      at: project.clock.now(),
    }
    const approval = {
      snapshot: wanted.snapshot,
      at: project.clock.now(),
      ...(wanted.waiver?.trim() ? { waiver: wanted.waiver.trim() } : {}),
    }
    return { ...now, approval, merge: claim }
  })
  if (!verdict.ok) return refused(verdict.error)
  if (!claimed.ok) return failed(claimed.error.text)
  await project.remember(meta.sessionID, {
    kind: "merge",
    text: `approved ${wanted.snapshot.slice(0, 7)}`,
    snapshot: wanted.snapshot,
  })
  // What lay there when the person said yes stands in the history, also when it came after the review.
  for (const line of await project.outside(meta)) await project.remember(meta.sessionID, { kind: "merge", text: line })
  return runMerge(project, claimed.value.task, wanted.message, tip, inBase)
}

/** Merges what is claimed and writes the result down; a refusal of git leaves the card in Review with its words. */
async function runMerge(
  project: Project,
  task: Task,
  message: string | undefined,
  /** The target's commit that was looked at. */
  tip: string,
  already: boolean,
): Promise<Approved> {
  const { meta } = task
  const { snapshot, target, strategy } = meta.merge!
  const merged = already ? ok({ commit: tip }) : await project.trees.merge(meta, messageOf(task, message), tip)
  if (!merged.ok) {
    await finish(project, meta, {
      state: "failed",
      snapshot,
      target,
      strategy,
      reason: merged.error.text,
      at: project.clock.now(),
    })
    return failed(merged.error.text)
  }
  const { commit } = merged.value
  const done = await finish(project, meta, {
    state: "merged",
    snapshot,
    target,
    strategy,
    commit,
    at: project.clock.now(),
  })
  if (!done.ok) return failed(done.error.text)
  const text = already ? `already in ${target}` : `merged into ${target} as ${commit.slice(0, 7)}`
  return ok({ commit, target: target!, text })
}

/** A merge whose process died: done if the target has it, else it may be approved again. */
export async function resumeMerge(project: Project, task: Task): Promise<Result<void, { readonly text: string }>> {
  const { meta } = task
  const merge = meta.merge
  if (merge?.state !== "claimed" || !merge.snapshot || !merge.target) return ok()
  const found = await project.trees.findMerge(meta)
  if (!found.ok) return found
  const { claim: _, ...rest } = merge
  const at = project.clock.now()
  if (found.value !== undefined) return finish(project, meta, { ...rest, state: "merged", commit: found.value, at })
  const reason = "OpenCode ended during the merge; nothing was merged: approve again"
  return finish(project, meta, { ...rest, state: "failed", reason, at })
}

/** Done without merge: the branch stays as it is. */
export async function leaveTask(
  project: Project,
  task: Task,
  reason: string,
): Promise<Result<ReplyOf<"task.leave">, RequestFailure>> {
  let refusal: Refusal | undefined
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => {
    const verdict = judgeLeave(meta, reason)
    refusal = verdict.ok ? undefined : verdict.error
    if (refusal) return undefined
    return {
      ...meta,
      status: "done",
      lastGatedStatus: "done",
      merge: { state: "left", reason: reason.trim(), at: project.clock.now() },
    }
  })
  if (refusal) return refused(refusal)
  if (!updated.ok) return failed(updated.error.text)
  await project.remember(task.meta.sessionID, {
    kind: "move",
    text: `done without merge: ${reason.trim()}`,
    from: "review",
    to: "done",
  })
  return ok({ text: `done; the branch ${task.meta.branch} stays. ${await publishing(project, task.meta)}` })
}

/** How the person publishes what was left: Kagan pushes nothing itself. */
async function publishing(project: Project, { branch }: TaskMeta): Promise<string> {
  const remote = await project.trees.remote()
  return remote === undefined ? "There is no remote to push it to" : `To publish it: git push -u ${remote} ${branch}`
}

async function finish(
  project: Project,
  meta: TaskMeta,
  merge: Merge,
): Promise<Result<void, { readonly text: string }>> {
  const updated = await project.tasks.update(meta.sessionID, (now) => {
    if (now.merge?.state !== "claimed" || columnOf(now) !== "review") return undefined
    return merge.state === "merged" ? { ...now, merge, status: "done", lastGatedStatus: "done" } : { ...now, merge }
  })
  if (!updated.ok) return err({ text: updated.error.text })
  // Another window has written it down already.
  if (!updated.value.changed) return ok()
  const text =
    merge.state === "merged"
      ? `merged into ${merge.target} as ${merge.commit?.slice(0, 7)}`
      : `not merged: ${merge.reason}`
  await project.remember(meta.sessionID, { kind: "merge", text, ...(merge.commit ? { commit: merge.commit } : {}) })
  if (merge.state === "merged") {
    await project.remember(meta.sessionID, {
      kind: "move",
      text: "Review → Done, approved",
      from: "review",
      to: "done",
    })
  }
  return ok()
}

/** The title is the subject, character for character; the trailers name task, snapshot, waivers and checks. */
function messageOf({ title, meta }: Task, own: string | undefined): string {
  const trailers = [`Kagan-Task: ${meta.taskNumber}`, `Kagan-Snapshot: ${meta.merge?.snapshot}`]
  if (meta.intake?.state === "waived") trailers.push(`Kagan-Waived: intake (${meta.intake.reason})`)
  const validator = meta.review?.validator
  if (validator?.state === "waived") trailers.push(`Kagan-Waived: validator (${validator.reason})`)
  else if (meta.approval?.waiver) trailers.push(`Kagan-Waived: validator (${meta.approval.waiver})`)
  const checks = checksVerdict(meta.review?.checks)
  if (checks) trailers.push(`Kagan-Checks: ${checks}`)
  return `${own?.trim() || title}\n\n${trailers.map((line) => line.replace(/\s+/g, " ")).join("\n")}\n`
}
