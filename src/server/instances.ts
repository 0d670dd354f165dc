import { err, ok, type Result } from "../core/result.ts"
import type { Host } from "../shared/host.ts"
import { RECIPE_VARIABLES, recipeEnv, type RecipeEnv, type RecipeVariable } from "./recipe.ts"

/*
 * The host keeps one instance per directory, all in one thread and with one copy of this module. Here is known in which
 * directories our half runs; and here, one at a time, the instances of worktrees are booted by the recipe.
 *
 *   ensureInstance ─► ours? done
 *                  ─► variables set ─► boot ─► ours? ── no: somebody booted it before us
 *                                                └► idle? dispose, boot again ─► ours?
 *                  ─► variables restored
 */

type Registry = {
  /** The boot in which our half started: one object for all plugins of that boot. */
  readonly served: Map<string, object>
  /** The same of those boots that were made by the recipe. */
  readonly clean: Map<string, object>
  queue: Promise<unknown>
  step:
    | {
        readonly fits: (directory: string) => boolean
        readonly before: RecipeEnv
        readonly strays: Set<string>
      }
    | undefined
}

const KEY = Symbol.for("opencode-kagan/instances/1")

function registry(): Registry {
  // On globalThis, since two spellings of the plugin's path are two copies of this module.
  const holder = globalThis as { [KEY]?: Registry }
  return (holder[KEY] ??= { served: new Map(), clean: new Map(), queue: Promise.resolve(), step: undefined })
}

/**
 * Told at init of our half. `serve`: go on. `duplicate`: another copy of us already serves this very boot. `stray`: the
 * host booted another directory while a worktree's variables were set, so it got us and a configuration that is not its
 * own; that instance stays without us and is disposed when the step ends.
 */
export function enterInstance(directory: string, boot: object): "serve" | "duplicate" | "stray" {
  const { served, clean, step } = registry()
  if (step && !step.fits(directory) && !served.has(directory)) {
    step.strays.add(directory)
    return "stray"
  }
  if (served.get(directory) === boot) return "duplicate"
  served.set(directory, boot)
  if (step?.fits(directory)) clean.set(directory, boot)
  return "serve"
}

/** Told when the host disposes the instance of that boot. */
export function leaveInstance(directory: string, boot: object): void {
  const { served, clean } = registry()
  if (served.get(directory) === boot) served.delete(directory)
  if (clean.get(directory) === boot) clean.delete(directory)
}

export function isServed(directory: string): boolean {
  return registry().served.has(directory)
}

/** Whether it was booted with the main checkout's configuration rather than with its own. */
function isClean(directory: string): boolean {
  const { served, clean } = registry()
  return served.has(directory) && served.get(directory) === clean.get(directory)
}

export function servedDirectories(): readonly string[] {
  return [...registry().served.keys()]
}

/** For the `shell.env` hook: a command that starts in the middle of a boot sees the variables as the person set them. */
export function keepOutOfShells(env: Record<string, string>): void {
  const { step } = registry()
  if (!step) return
  for (const name of RECIPE_VARIABLES) env[name] ??= step.before[name] ?? ""
}

/** The environment as the person started the host with it, for commands of ours. */
export function personEnv(): NodeJS.ProcessEnv {
  const { step } = registry()
  if (!step) return process.env
  const env = { ...process.env }
  for (const name of RECIPE_VARIABLES) {
    if (step.before[name] === undefined) delete env[name]
    else env[name] = step.before[name]
  }
  return env
}

export type InstanceFailure = { readonly kind: "busy" | "failed"; readonly text: string }

export type EnsureInput = {
  readonly host: Pick<Host, "boot" | "config" | "disposeInstance" | "statuses" | "log">
  /** The main checkout, whose configuration is to be in force. */
  readonly root: string
  /** Where in it the host was started. */
  readonly from?: string
  readonly directory: string
  /** Whether another directory is a worktree of the same checkout, for which the recipe is right as well. */
  readonly family?: (directory: string) => boolean
  /** An OpenCode file that the branch brought, when there is one. */
  readonly foreign?: (directory: string) => Promise<string | undefined>
  /** The host had opened the folder by itself, and so with this file of the branch in force. */
  readonly onForeign?: (directory: string, file: string) => void
}

/**
 * The worktree's instance is up, by the recipe, with our half in it. One that was booted without us, or with OpenCode
 * files of the branch in force, is replaced when nothing runs in it (without us and busy: `busy`). Calls are serialised;
 * one that finds the instance as it should be costs nothing.
 */
export async function ensureInstance(input: EnsureInput): Promise<Result<void, InstanceFailure>> {
  if (await isGood(input)) return ok()
  const state = registry()
  const mine = state.queue.then(() => bootByRecipe(input))
  state.queue = mine.catch(() => undefined)
  return mine
}

async function isGood({ directory, foreign }: EnsureInput): Promise<boolean> {
  if (!isServed(directory)) return false
  return isClean(directory) || (await foreign?.(directory)) === undefined
}

async function bootByRecipe(input: EnsureInput): Promise<Result<void, InstanceFailure>> {
  const { host, directory, root } = input
  if (await isGood(input)) return ok()
  const main = await host.config(input.from ?? root)
  if (!main.ok) return err({ kind: "failed", text: `the main checkout's configuration: ${main.error.text}` })
  const recipe = await recipeEnv({
    root,
    ...(input.from === undefined ? {} : { from: input.from }),
    plugins: main.value.plugin ?? [],
    env: process.env,
  })
  if (!recipe.ok) return err({ kind: "failed", text: recipe.error })

  const state = registry()
  const before = currentValues()
  const strays = new Set<string>()
  state.step = { fits: (other) => other === directory || input.family?.(other) === true, before, strays }
  setVariables(recipe.value)
  try {
    return await bootOrReplace(input)
  } finally {
    setVariables(before)
    state.step = undefined
    for (const stray of strays) {
      host.log("warn", "an instance was booted in the middle of another's boot and is booted anew", {
        directory: stray,
      })
      const disposed = await host.disposeInstance(stray)
      if (!disposed.ok) host.log("error", disposed.error.text, { directory: stray })
    }
  }
}

async function bootOrReplace(input: EnsureInput): Promise<Result<void, InstanceFailure>> {
  const { host, directory } = input
  const first = await host.boot(directory)
  if (!first.ok) return err({ kind: "failed", text: first.error.text })
  if (await isGood(input)) return ok()
  const statuses = await host.statuses(directory)
  if (!statuses.ok) return err({ kind: "failed", text: statuses.error.text })
  if (Object.values(statuses.value).some((status) => status.type !== "idle")) {
    // Our half hears what goes on there: it is replaced at a later look.
    if (isServed(directory)) return ok()
    return err({
      kind: "busy",
      text: "OpenCode opened this folder before Kagan could and something runs in it: it is taken over once that ended",
    })
  }
  host.log("info", "an instance that was booted without the main checkout's configuration is booted anew", {
    directory,
  })
  const file = await input.foreign?.(directory)
  if (file !== undefined) input.onForeign?.(directory, file)
  // Under the variables as well: the host would boot a missing instance only to dispose it.
  const disposed = await host.disposeInstance(directory)
  if (!disposed.ok) return err({ kind: "failed", text: disposed.error.text })
  const again = await host.boot(directory)
  if (!again.ok) return err({ kind: "failed", text: again.error.text })
  return isServed(directory)
    ? ok()
    : err({ kind: "failed", text: "Kagan did not start in the worktree's folder: see OpenCode's log" })
}

function currentValues(): RecipeEnv {
  return Object.fromEntries(RECIPE_VARIABLES.map((name) => [name, process.env[name]])) as Record<
    RecipeVariable,
    string | undefined
  >
}

function setVariables(values: RecipeEnv): void {
  for (const name of RECIPE_VARIABLES) {
    const value = values[name]
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}
