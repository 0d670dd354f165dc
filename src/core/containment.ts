import { displayable } from "./text.ts"

/*
 * What a task may not change: the person's own checkout, their git settings and their hooks. It cannot be kept from
 * changing them by us alone, so it is written down when work starts and compared before anything is merged.
 */

/** Names with a mark of what each held: a path of the checkout, a setting, a hook. Never a value itself. */
export type Marks = Readonly<Record<string, string>>

export type Surroundings = {
  /** Files of the main checkout that differ from its last commit. */
  readonly files: Marks
  readonly settings: Marks
  readonly hooks: Marks
}

/** What work of one generation began with. */
export type Baseline = Surroundings & { readonly v: 1; readonly generation: number; readonly at: number }

/** What became different since, by name. */
export type Trespass = { readonly [K in keyof Surroundings]: readonly string[] }

export function compareSurroundings(before: Surroundings, now: Surroundings): Trespass {
  return {
    // A file that is clean again, or committed by the person, is none that lies about.
    files: changed(before.files, now.files, false),
    settings: changed(before.settings, now.settings, true),
    hooks: changed(before.hooks, now.hooks, true),
  }
}

function changed(before: Marks, now: Marks, gone: boolean): readonly string[] {
  const names = [...Object.keys(now), ...(gone ? Object.keys(before) : [])]
  const own = (marks: Marks, name: string) => (Object.hasOwn(marks, name) ? marks[name] : undefined)
  return [...new Set(names)].filter((name) => own(before, name) !== own(now, name)).toSorted()
}

/** One line per kind that says what changed and what the person is to look at; empty when nothing did. */
export function trespassLines(trespass: Trespass, most = 5): readonly string[] {
  const { files, settings, hooks } = trespass
  return [
    ...(files.length > 0 ? [`Your own checkout changed during this task: ${listed(files, most)}`] : []),
    ...(settings.length > 0 ? [`Git settings changed during this task: ${listed(settings, most)}`] : []),
    ...(hooks.length > 0 ? [`Git hooks changed during this task: ${listed(hooks, most)}`] : []),
  ]
}

function listed(names: readonly string[], most: number): string {
  const shown = names.slice(0, most).map((name) => displayable(name).slice(0, 120))
  return names.length > most ? `${shown.join(", ")} and ${names.length - most} more` : shown.join(", ")
}

/** Reads a stored baseline; `undefined` for anything that is none. */
export function readBaseline(raw: unknown): Baseline | undefined {
  if (typeof raw !== "object" || raw === null) return undefined
  const { v, generation, at, files, settings, hooks } = raw as Record<string, unknown>
  if (v !== 1 || typeof generation !== "number" || typeof at !== "number") return undefined
  return isMarks(files) && isMarks(settings) && isMarks(hooks)
    ? { v, generation, at, files, settings, hooks }
    : undefined
}

function isMarks(raw: unknown): raw is Marks {
  return typeof raw === "object" && raw !== null && Object.values(raw).every((mark) => typeof mark === "string")
}
