import ignore from "ignore"
import type { Options } from "./options.ts"

export type Check = Options["checks"][number]

/** The checks that concern these paths (gitignore syntax, from the top of the repository); without `paths` all do. */
export function matchingChecks(checks: readonly Check[], changed: readonly string[]): readonly Check[] {
  return checks.filter(({ paths }) => {
    if (!paths || paths.length === 0) return true
    const rules = ignore({ allowRelativePaths: true, ignorecase: false }).add([...paths])
    return changed.some((path) => path !== "" && rules.ignores(path))
  })
}
