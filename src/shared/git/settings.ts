import { ok } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import type { GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"

export interface Setting {
  readonly scope: string
  /** Section and name in small letters, as git lists them. */
  readonly key: string
  readonly value: string
}

/** All settings of git that are in force in a folder, in the order in which a later one wins. Our own are left out. */
export async function readSettings(git: Git, folder: string): GitResult<readonly Setting[]> {
  const answer = await git.run(["config", "--list", "--null", "--show-scope"], { cwd: folder })
  if (!answer.ok) return answer
  const fields = splitNul(answer.value.bytes)
  const settings: Setting[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const [scope, entry] = [fields[i]!, fields[i + 1]!]
    if (scope === "command") continue
    const end = entry.indexOf("\n")
    // A name without "=" means yes.
    settings.push(
      end === -1
        ? { scope, key: entry, value: "true" }
        : { scope, key: entry.slice(0, end), value: entry.slice(end + 1) },
    )
  }
  return ok(settings)
}

/** The value that counts; the key in small letters. */
export function settingOf(settings: readonly Setting[], key: string): string | undefined {
  return settings.findLast((setting) => setting.key === key)?.value
}

/** A yes-or-no setting as git reads it; what is neither is no. */
export function isOn(settings: readonly Setting[], key: string): boolean {
  const value = settingOf(settings, key)?.toLowerCase()
  return value !== undefined && (["true", "yes", "on"].includes(value) || /^[1-9]\d*$/.test(value))
}
