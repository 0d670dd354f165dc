import { join } from "node:path"
import { z } from "zod"
import type { Options } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import type { Store } from "./store.ts"

/*
 * Which commands are run for a task: those that the person had configured when they created it, written down beside
 * it. What its agent, or another one, does to configuration files later runs nothing.
 */

export type TaskCommands = {
  readonly checks: Options["checks"]
  readonly setup: Options["worktree"]["setup"]
}

const shape = z.object({
  checks: z.array(
    z.object({
      name: z.string(),
      command: z.string(),
      cwd: z.string().optional(),
      paths: z.array(z.string()).optional(),
      timeout: z.number().optional(),
    }),
  ),
  setup: z.array(z.string()),
})

type Kept = { readonly store: Pick<Store, "paths" | "readJson" | "writeJson"> }

/** Writes down what is configured now: at creation, and when the person asks for it anew. */
export async function keepCommands(
  { store }: Kept,
  sessionID: string,
  { checks, worktree }: Options,
): Promise<Result<void, { readonly text: string }>> {
  const commands: TaskCommands = { checks, setup: worktree.setup }
  const written = await store.writeJson(pathOf(store, sessionID), commands)
  return written.ok ? ok() : err({ text: `the commands of the task: ${written.error.text}` })
}

/** The commands of a task; of one that nobody created here, those that are configured now. */
export async function commandsOf(
  { store }: Kept,
  sessionID: string,
  { checks, worktree }: Options,
): Promise<Result<TaskCommands, { readonly text: string }>> {
  const path = pathOf(store, sessionID)
  const read = await store.readJson(path)
  if (!read.ok && read.error.kind === "missing") return ok({ checks, setup: worktree.setup })
  if (!read.ok) return err({ text: read.error.text })
  const parsed = shape.safeParse(read.value)
  return parsed.success ? ok(parsed.data) : err({ text: `${path} holds no commands` })
}

/** The commands of a task whose session is another one now. */
export async function moveCommands(
  { store }: Kept,
  from: string,
  to: string,
): Promise<Result<void, { readonly text: string }>> {
  const read = await store.readJson(pathOf(store, from))
  if (!read.ok) return read.error.kind === "missing" ? ok() : err({ text: read.error.text })
  const written = await store.writeJson(pathOf(store, to), read.value)
  return written.ok ? ok() : err({ text: written.error.text })
}

function pathOf(store: Kept["store"], sessionID: string): string {
  return join(store.paths.session(sessionID).dir, "commands.json")
}
