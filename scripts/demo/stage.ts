import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { startModel, type Model } from "../../test/kit/model.ts"
import { makeSandbox, pluginPath, type Sandbox, type SandboxOptions } from "../../test/kit/sandbox.ts"
import { SAMPLE_FILES } from "./sample.ts"
import { demoScript, type Pace } from "./script.ts"

/** All that a demo plays on: a home of its own for OpenCode, a sample repository, and a scripted model. */
export interface Stage {
  readonly sandbox: Sandbox
  readonly model: Model
  /** Ends every process that was started on it and removes its files. Can be called again. */
  clear(): Promise<void>
}

/** Sets the stage in a temporary folder. Should this process die, the kit's guardian clears it. */
export async function setStage(pace: Pace, more: Pick<SandboxOptions, "config"> = {}): Promise<Stage> {
  const model = await startModel(demoScript(pace))
  const openBoard = pathToFileURL(join(import.meta.dirname, "open-board.js")).href
  const sandbox = await makeSandbox({
    ...more,
    model,
    folder: "home/teahouse",
    files: SAMPLE_FILES,
    tui: { plugin: [pluginPath(), openBoard] },
  })
  let cleared: Promise<void> | undefined
  return {
    sandbox,
    model,
    clear: () => (cleared ??= sandbox.dispose().finally(() => model.dispose())),
  }
}

export interface RequestCounts {
  readonly intake: number
  readonly work: number
  readonly validator: number
  /** Titles, chats outside the board, anything that the life of a card does not need. */
  readonly other: number
}

/** What the model was asked for. Work is only what was asked in a card's own worktree. */
export async function countRequests(stage: Stage): Promise<RequestCounts> {
  const listed = await stage.sandbox.repo.git("worktree", "list", "--porcelain", "-z")
  const folders = listed.split("\0").flatMap((line) => (line.startsWith("worktree ") ? [line.slice(9)] : []))
  const worktrees = folders.filter((folder) => folder !== stage.sandbox.repo.dir)
  const counts = { intake: 0, work: 0, validator: 0, other: 0 }
  for (const request of stage.model.requests) {
    const inWorktree = worktrees.some((folder) => request.system.includes(folder))
    if (request.kind === "intake" || request.kind === "validator") counts[request.kind]++
    else if (request.kind === "work" && inWorktree) counts.work++
    else counts.other++
  }
  return counts
}
