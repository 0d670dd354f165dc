import { existsSync } from "node:fs"
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "vitest"
import { columnOf, type TaskMeta } from "../../src/core/task.ts"
import { countingGit, killAtWrite, type CountingGit } from "../kit/crash.ts"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { makeProbe, type Probe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { openWindow, type Window } from "../kit/window.ts"
import { isDead } from "./crash-points.ts"

/** Where OpenCode is killed: around a git call, or when a file says something for the first time. */
type Spot =
  | { readonly git: string; readonly when: "before" | "after"; readonly nth?: number }
  | { readonly file: "drafts" | "tasks"; readonly says: RegExp }

type Story = (spot: Spot | undefined) => Promise<string>

/** Between any two git calls of making, merging and taking back: what is done is done once, and nothing is lost. */
export const GIT_POINTS: Readonly<Record<string, readonly [Story, Spot]>> = {
  "create, numbers chosen": [created, { file: "drafts", says: /"made"/ }],
  "create, before its branch": [created, { git: "kagan: task branch", when: "before" }],
  "create, after its branch": [created, { git: "kagan: task branch", when: "after" }],
  "create, before its worktree": [created, { git: "worktree add", when: "before" }],
  "create, after its worktree": [created, { git: "worktree add", when: "after" }],
  "create, after the second worktree": [created, { git: "worktree add", when: "after", nth: 2 }],
  "create, the first of two is a task": [created, { file: "tasks", says: /"boardTask"/ }],
  "take back, before the worktree goes": [takenBack, { git: "worktree remove", when: "before" }],
  "take back, after the worktree went": [takenBack, { git: "worktree remove", when: "after" }],
  "take back, before the branch goes": [takenBack, { git: "update-ref -d", when: "before", nth: 2 }],
  "take back, after the branch went": [takenBack, { git: "update-ref -d", when: "after", nth: 2 }],
  "delete, before the worktree goes": [deleted, { git: "worktree remove", when: "before" }],
  "delete, after the worktree went": [deleted, { git: "worktree remove", when: "after" }],
  "delete, after the branch went": [deleted, { git: "update-ref -d", when: "after" }],
  "delete, before its snapshots go": [deleted, { git: "for-each-ref --format=delete", when: "before" }],
  "update, after its commit": [updated, { git: "commit-tree -p", when: "after" }],
  "update, before the files change": [updated, { git: "read-tree -m -u", when: "before" }],
  "update, after the files changed": [updated, { git: "read-tree -m -u", when: "after" }],
  "update, before the branch moves": [updated, { git: "kagan: update from base", when: "before" }],
  "update, after the branch moved": [updated, { git: "kagan: update from base", when: "after" }],
  "merge, claimed": [merged, { file: "tasks", says: /"state": "claimed"/ }],
  "merge, before its tree": [merged, { git: "merge-tree", when: "before" }],
  "merge, after its commit": [merged, { git: "commit-tree", when: "after" }],
  "merge, before the checkout moves": [merged, { git: "merge --quiet --ff-only", when: "before" }],
  "merge, after the checkout moved": [merged, { git: "merge --quiet --ff-only", when: "after" }],
  "merge, written down": [merged, { file: "tasks", says: /"state": "merged"/ }],
  "merge with hooks, before its commit": [mergedWithHooks, { git: "commit --quiet", when: "before" }],
  "merge with hooks, after its commit": [mergedWithHooks, { git: "commit --quiet", when: "after" }],
}

type Scene = {
  readonly box: Sandbox
  readonly model: Model
  readonly probe: Probe
  readonly git: CountingGit
  window: Window
}

async function onStage<T>(options: object, play: (scene: Scene) => Promise<T>): Promise<T> {
  const model = await startModel((request) =>
    request.kind === "work" && request.toolResults.length === 0
      ? toolCalls({ name: "write", args: { filePath: "made.txt", content: "made\n" } })
      : text("Done."),
  )
  const box = await makeSandbox({ plugin: false, model, where: "project" })
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({
    plugin: [[pluginPath(), { intake: { enabled: false }, ...options }], probe.spec] as never,
  })
  const git = await countingGit(box)
  const scene: Scene = { box, model, probe, git, window: await openWindow(box, probe) }
  try {
    return await play(scene)
  } finally {
    await scene.window.host.stop()
    await box.dispose()
    await model.dispose()
  }
}

/** Sets the trap, asks once, and opens OpenCode again whenever it died, until `over` says what came of it. */
async function through(
  scene: Scene,
  spot: Spot | undefined,
  ask: (window: Window) => Promise<unknown>,
  over: (window: Window) => Promise<string | undefined>,
): Promise<string> {
  const first = scene.window
  const trap = spot && (await arm(scene, spot))
  // The answer may be lost with its host; what counts is what stands afterwards.
  const asked = ask(first).catch(() => undefined)
  const end = Date.now() + 240_000
  let outcome: string | undefined
  let problem: unknown
  while (outcome === undefined) {
    if (Date.now() > end) throw new Error(`it does not come to rest: ${String(problem)}`)
    if (trap && !(await trap.fired())) {
      await Promise.race([asked, Bun.sleep(100)])
      if (!(await isDead(scene.window.host))) continue
    }
    if (await isDead(scene.window.host)) {
      await scene.window.host.kill9()
      scene.window = await openWindow(scene.box, scene.probe)
    }
    outcome = await over(scene.window).catch((cause: unknown) => {
      problem = cause
      return undefined
    })
    await Bun.sleep(150)
  }
  if (trap) expect(scene.window.host === first.host, "it was killed").toBe(false)
  await trap?.close()
  return outcome
}

async function arm({ git, box, window }: Scene, spot: Spot) {
  const { pid } = window.host
  if ("git" in spot) {
    await git.arm({ at: spot.nth ?? 1, pid, match: spot.git, when: spot.when })
    return { fired: () => git.fired(), close: () => git.disarm() }
  }
  const folder = join(box.repo.dir, ".git/kagan", spot.file)
  await mkdir(folder, { recursive: true })
  const trap = await killAtWrite({ folder, match: /\.json$/, text: spot.says, at: 1, pid })
  return { fired: async () => trap.fired(), close: () => trap.close() }
}

const two = [
  { title: "First of two", description: "" },
  { title: "Second of two", description: "", after: [0] },
]

/** What a creation may leave, by git, by the host and on disk. */
async function standing({ box, window }: Scene) {
  const branches = (await box.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads/kagan/")).trim()
  const worktrees = (await box.repo.git("worktree", "list", "--porcelain")).match(/^worktree /gm) ?? []
  const listed = (await window.host.client.session.list({ scope: "project", limit: 1_000 })).data ?? []
  const drafts = await readdir(join(box.repo.dir, ".git/kagan/drafts")).catch(() => [])
  return {
    branches: branches === "" ? [] : branches.split("\n"),
    worktrees: worktrees.length - 1,
    sessions: listed.filter(({ parentID }) => !parentID).map(({ title }) => title),
    drafts: drafts.filter((name) => name.endsWith(".json")),
  }
}

/** Two tasks at once: however often OpenCode dies, both stand in the end, each once. */
function created(spot: Spot | undefined): Promise<string> {
  return onStage({}, async (scene) => {
    const outcome = await through(
      scene,
      spot,
      ({ board }) => board.ask("tasks.create", { draftID: "d-two", tasks: two }),
      async (window) => {
        const { drafts } = await standing({ ...scene, window })
        const all = await window.seen.all()
        return drafts.length === 0 && all.length === 2 ? "both stand, each once" : undefined
      },
    )
    // Sent again, since the answer was lost with its host: they are found.
    const again = await scene.window.board.get("tasks.create", { draftID: "d-two", tasks: two })
    expect(again.text).toBe("#1, #2 were created already")
    const { branches, worktrees, sessions } = await standing(scene)
    expect(branches).toEqual(["kagan/1-first-of-two", "kagan/2-second-of-two"])
    expect({ worktrees, sessions: sessions.toSorted() }).toEqual({
      worktrees: 2,
      sessions: ["First of two", "Second of two"],
    })
    const [first, second] = await scene.window.seen.all()
    expect([first!.dependsOn, second!.dependsOn]).toEqual([undefined, [1]])
    for (const { worktree } of [first!, second!]) {
      expect(await scene.box.repo.git("-C", worktree, "status", "--porcelain")).toBe("")
    }
    return outcome
  })
}

/** The second of two cannot be made: in the end nothing of the first is left, and what was asked for is kept. */
function takenBack(spot: Spot | undefined): Promise<string> {
  return onStage({}, async (scene) => {
    const { repo } = scene.box
    await repo.git("switch", "--quiet", "--create", "filtered")
    await repo.write(".gitattributes", "*.txt filter=broken\n")
    await repo.write("a.txt", "a\n")
    await commitFiles(scene, "a filter that is nobody's", ".gitattributes", "a.txt")
    await repo.git("switch", "--quiet", "main")
    await repo.git("config", "filter.broken.smudge", "exit 1")
    const [first, second] = two
    const outcome = await through(
      scene,
      spot,
      ({ board }) =>
        board.ask("tasks.create", { draftID: "d-two", tasks: [first!, { ...second!, baseBranch: "filtered" }] }),
      async ({ board }) => {
        const { drafts } = await board.get("board.facts", {})
        const problem = drafts.find(({ id }) => id === "d-two")?.problem
        return problem?.includes("filter") ? "nothing is left, the draft is kept" : undefined
      },
    )
    const { branches, worktrees, sessions, drafts } = await standing(scene)
    expect({ branches, worktrees, sessions, drafts }).toEqual({
      branches: [],
      worktrees: 0,
      sessions: [],
      drafts: ["d-two.json"],
    })
    return outcome
  })
}

/** A task in the trash is deleted for good, as often as the person has to say so: of it nothing is left, of others all. */
function deleted(spot: Spot | undefined): Promise<string> {
  return onStage({}, async (scene) => {
    const { board, seen } = scene.window
    const made = await board.get("tasks.create", {
      draftID: "d-two",
      tasks: two.map(({ title }) => ({ title, description: "" })),
    })
    const { sessionID } = made.tasks[0]!
    await board.get("task.trash", { sessionID, trashed: true })
    await seen.until(sessionID, "in the trash", (meta) => meta.trashedAt !== undefined)
    let asked = 0
    const purge = async (window: Window) => {
      asked++
      const { lost } = await window.board.get("purge.preview", { sessionID })
      return window.board.ask("task.purge", { sessionID, lost })
    }
    await through(scene, spot, purge, async (window) => {
      if ((await window.seen.all()).some((meta) => meta.sessionID === sessionID)) {
        await purge(window)
        return undefined
      }
      const { facts } = await window.board.get("board.facts", {})
      if (!facts.some((one) => one.sessionID === sessionID)) return "gone"
      // Only its record is left: the person gives that up.
      await window.board.ask("task.discard", { sessionID })
      return undefined
    })
    expect(await standing(scene)).toEqual({
      branches: ["kagan/2-second-of-two"],
      worktrees: 1,
      sessions: ["Second of two"],
      drafts: [],
    })
    const next = await scene.window.board.get("task.create", { draftID: "d-next", title: "Next", description: "" })
    expect(next.taskNumber).toBe(3)
    return asked > 1 ? "gone for good, once asked again" : "gone for good"
  })
}

/** The base is brought into a reviewed branch: it has it once, the agent's unsaved file is as it was, and both are reviewed. */
function updated(spot: Spot | undefined): Promise<string> {
  return onStage({}, async (scene) => {
    const { repo } = scene.box
    const { sessionID, worktree, branch, ...card } = await reviewed(scene.window)
    await repo.write("base.txt", "base\n")
    const base = await commitFiles(scene, "the base goes on", "base.txt")
    let asked = 0
    const update = ({ board }: Window) => {
      asked++
      return board.ask("task.update", { sessionID })
    }
    const inside = (...args: string[]) => repo.git("-C", worktree, ...args)
    await through(scene, spot, update, async (window) => {
      const has = (await repo.git("for-each-ref", `--contains=${base}`, "--format=%(refname:short)")).split("\n")
      if (!has.includes(branch)) {
        await update(window)
        return undefined
      }
      const { review } = await window.seen.read(sessionID)
      if (!review?.snapshot) return undefined
      if (review.snapshot.commit !== card.review!.snapshot!.commit) return review.snapshot.commit
      // OpenCode died before it was noted: the card says that it changed, and the person has it reviewed again.
      await window.board.ask("review.again", { sessionID })
      return undefined
    })
    const { snapshot } = (await scene.window.seen.read(sessionID)).review!
    expect(await repo.git("diff", "--name-only", base, snapshot!.commit)).toBe("made.txt\n")
    expect(await repo.git("log", "--merges", "--format=%P", branch)).toBe(`${card.baseCommit} ${base}\n`)
    expect((await inside("symbolic-ref", "--short", "HEAD")).trim()).toBe(branch)
    expect(await inside("status", "--porcelain")).toBe("?? made.txt\n")
    expect(await readFile(join(worktree, "made.txt"), "utf8")).toBe("made\n")
    const gitDir = (await inside("rev-parse", "--absolute-git-dir")).trim()
    for (const left of ["kagan-borrowed.json", "kagan-index", "index.lock", "HEAD.lock"])
      expect(existsSync(join(gitDir, left)), left).toBe(false)
    return asked > 1 ? "brought in once, asked again" : "brought in once, by itself"
  })
}

function merged(spot: Spot | undefined): Promise<string> {
  return mergeStory(spot, false)
}

function mergedWithHooks(spot: Spot | undefined): Promise<string> {
  return mergeStory(spot, true)
}

/** An approval beside unsaved work of the person's: merged exactly once, and every byte of theirs is still there. */
function mergeStory(spot: Spot | undefined, hooks: boolean): Promise<string> {
  return onStage({}, async (scene) => {
    const { repo } = scene.box
    const hook = join(repo.dir, ".git/hooks/pre-commit")
    if (hooks) {
      await mkdir(join(repo.dir, ".git/hooks"), { recursive: true })
      await writeFile(hook, "#!/bin/sh\nexit 0\n")
      await chmod(hook, 0o755)
    }
    await repo.write("mine.txt", "1\n")
    const base = await commitFiles(scene, "before", "mine.txt")
    await repo.write("mine.txt", "2, not saved yet\n")
    await repo.write("notes.txt", "untracked\n")
    const before = await repo.git("status", "--porcelain")
    const card = await reviewed(scene.window)
    const { sessionID } = card
    const snapshot = card.review!.snapshot!.commit
    let approvals = 0
    const approve = ({ board }: Window) => {
      approvals++
      return board.ask("task.approve", { sessionID, snapshot })
    }
    await through(scene, spot, approve, async (window) => {
      const meta = await window.seen.read(sessionID)
      if (columnOf(meta) === "done") return meta.merge?.state
      // Resolved to "not merged": the person approves again.
      if (columnOf(meta) === "review" && meta.merge?.state !== "claimed") await approve(window)
      return undefined
    })
    const log = (await repo.git("log", "--format=%H %s", `${base}..main`)).trim().split("\n")
    expect(log).toHaveLength(1)
    const commit = log[0]!.split(" ")[0]!
    expect(await scene.window.seen.read(sessionID)).toMatchObject({ merge: { state: "merged", commit } })
    expect(await repo.git("diff", "--stat", snapshot, commit)).toBe("")
    expect(await repo.git("status", "--porcelain")).toBe(before)
    expect(await readFile(join(repo.dir, "mine.txt"), "utf8")).toBe("2, not saved yet\n")
    expect(await readFile(join(repo.dir, "notes.txt"), "utf8")).toBe("untracked\n")
    expect(await readFile(join(repo.dir, "made.txt"), "utf8")).toBe("made\n")
    for (const left of ["kagan-advancing.json", "MERGE_HEAD", "index.lock"])
      expect(existsSync(join(repo.dir, ".git", left)), left).toBe(false)
    expect((await repo.git("-C", card.worktree, "symbolic-ref", "--short", "HEAD")).trim()).toBe(card.branch)
    expect(await readFile(join(card.worktree, "made.txt"), "utf8")).toBe("made\n")
    return approvals > 1 ? "merged once, at a second approval" : "merged once, by itself"
  })
}

/** Only these files: the host's configuration lies untracked beside them. */
async function commitFiles({ box: { repo } }: Scene, message: string, ...paths: string[]): Promise<string> {
  await repo.git("add", "--", ...paths)
  await repo.git("commit", "--quiet", "-m", message)
  return (await repo.git("rev-parse", "HEAD")).trim()
}

async function reviewed({ board, seen }: Window): Promise<TaskMeta> {
  const { sessionID } = await board.get("task.create", {
    draftID: "d-merge",
    title: "Make a file",
    description: "",
    start: { waiver: "a test of the merge" },
  })
  await seen.until(sessionID, "a snapshot", (meta) => meta.review?.snapshot !== undefined)
  await board.get("validator.waive", { sessionID, reason: "a test of the merge" })
  return seen.read(sessionID)
}
