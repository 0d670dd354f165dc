import { isObject } from "../core/loose.ts"
import { OPTION_ROWS, readOptions, type OptionProblem, type Options } from "../core/options.ts"

export type LiveOptions = {
  now(): Options
  problems(): readonly OptionProblem[]
  /** The entry that counts says something else from now on; what counts only after a restart waits for one. */
  set(option: string, value: unknown): void
}

/** The options as the host gave them, and as they are changed while it runs. */
export function liveOptions(given: unknown, changed: () => void): LiveOptions {
  let raw: unknown = given
  let read = readOptions(raw)
  return {
    now: () => read.options,
    problems: () => read.problems,
    set(option, value) {
      if (OPTION_ROWS.find((row) => row.path === option)?.effect === "after a restart") return
      raw = withValue(raw, option.split("."), value)
      read = readOptions(raw)
      changed()
    },
  }
}

function withValue(at: unknown, [name = "", ...rest]: readonly string[], value: unknown): unknown {
  const { [name]: old, ...others } = isObject(at) ? at : {}
  const next = rest.length > 0 ? withValue(old, rest, value) : value
  return next === undefined ? others : { ...others, [name]: next }
}
