import { readFile } from "node:fs/promises"
import { withSpec } from "../core/config-edit.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { err, ok, type Result } from "../core/result.ts"
import { followsRegistry, judgeUpdate, type UpdateState } from "../core/updates.ts"
import { configFiles, inForce, PACKAGE, replaceConfig, type ConfigFile, type ConfigPlaces } from "./config-files.ts"
import { failed, refused } from "./moves.ts"
import type { Npm } from "./npm.ts"

export type UpdatesInput = {
  readonly places: () => ConfigPlaces
  readonly version: string
  readonly npm: Npm
}

export type UpdatesDesk = {
  /** `written`: the specs that earlier updates wrote. */
  check(body: { readonly hostVersion: string; readonly written: readonly string[] }): Promise<UpdateState>
  install(body: {
    readonly hostVersion: string
    readonly written: readonly string[]
    readonly version: string
  }): Promise<Result<{ readonly text: string; readonly spec: string }, RequestFailure>>
}

/** Looks for a newer version of Kagan and, on the person's word, names it in both config files. */
export function makeUpdates({ places, version, npm }: UpdatesInput): UpdatesDesk {
  /** The two entries that count, if they are ours to move. */
  async function entries(written: readonly string[]): Promise<Result<readonly ConfigFile[], string>> {
    const files = await configFiles(places())
    const found = [inForce(files, "server"), inForce(files, "tui")].flatMap((file) => file ?? [])
    if (found.length < 2) return err("Kagan does not stand in both config files: see /kagan-doctor")
    for (const file of found) {
      const followed = followsRegistry(file.entry!.spec, PACKAGE, written)
      if (!followed.ok) return err(followed.text)
    }
    return ok(found)
  }

  async function check({ hostVersion, written }: Parameters<UpdatesDesk["check"]>[0]): Promise<UpdateState> {
    const ours = await entries(written)
    if (!ours.ok) return { kind: "left", text: ours.error }
    const answer = await npm.newest(PACKAGE)
    return answer.ok ? judgeUpdate(answer.value, version, hostVersion) : { kind: "unknown", text: answer.error }
  }

  return {
    check,
    async install(body) {
      const state = await check(body)
      if (state.kind === "unknown") return failed(state.text)
      if (state.kind !== "newer") return refused({ kind: "invalid", text: state.text })
      if (state.version !== body.version) {
        const text = `meanwhile ${state.version} is the newest: ask again`
        return refused({ kind: "invalid", text })
      }
      const ours = await entries(body.written)
      if (!ours.ok) return refused({ kind: "invalid", text: ours.error })
      const spec = `${PACKAGE}@${state.version}`
      const done: Written[] = []
      for (const file of ours.value) {
        const text = withSpec(file.text ?? "", file.entry!.index, spec)
        const wrote = text.ok ? await replaceConfig(file.path, file.text, text.value) : text
        if (!wrote.ok) return failed(`nothing is updated: ${wrote.error}${await putBack(done)}`)
        done.push({ file, text: text.ok ? text.value : "" })
      }
      const tried = await npm.tryOut(PACKAGE, state.version)
      if (!tried.ok) return failed(`${state.version} cannot be installed (${tried.error})${await putBack(done)}`)
      const where = done.map(({ file }) => file.path).join(" and ")
      return ok({ text: `Kagan ${state.version} stands in ${where}: restart OpenCode`, spec })
    },
  }
}

type Written = { readonly file: ConfigFile; readonly text: string }

/** The lines as they were, and nothing else: what somebody wrote beside them meanwhile stays. */
async function putBack(written: readonly Written[]): Promise<string> {
  if (written.length === 0) return ""
  const problems: string[] = []
  for (const { file, text } of written) {
    const unchanged = await replaceConfig(file.path, text, file.text!)
    if (unchanged.ok) continue
    const now = await readFile(file.path, "utf8").catch(() => "")
    const back = withSpec(now, file.entry!.index, file.entry!.spec)
    const again = back.ok ? await replaceConfig(file.path, now, back.value) : back
    if (!again.ok) problems.push(`put "${file.entry!.spec}" back into ${file.path} by hand (${again.error})`)
  }
  return problems.length === 0 ? "; the old version is named again" : `; ${problems.join("; ")}`
}
