import { stat } from "node:fs/promises"
import { join } from "node:path"
import { ok, type Result } from "../../core/result.ts"
import { readTextFile, writeText, type FileFailure } from "./files.ts"

/**
 * Kagan's folder knows where it stands. Answers the repository that it was copied from, if that is still there with the
 * same name of its own: the cards are the other's then, and two would act on them. One that was moved is at home where
 * it is now.
 */
export async function copiedFrom(commonDir: string): Promise<Result<string | undefined, FileFailure>> {
  const file = join(commonDir, "kagan", "home")
  const known = await readTextFile(file)
  if (!known.ok && known.error.kind !== "missing") return known
  const home = known.ok ? known.value.trim() : ""
  if (home === commonDir) return ok(undefined)
  if (home !== "" && (await isAnother(home, commonDir))) return ok(home)
  const written = await writeText(file, `${commonDir}\n`)
  return written.ok ? ok(undefined) : written
}

/** The same folder may be reached by two paths. */
async function isAnother(home: string, commonDir: string): Promise<boolean> {
  const [there, here] = await Promise.all([home, commonDir].map((path) => stat(path).catch(() => undefined)))
  if (!there || !here || (there.dev === here.dev && there.ino === here.ino)) return false
  const [theirs, ours] = await Promise.all([home, commonDir].map((path) => readTextFile(join(path, "kagan", "id"))))
  return theirs!.ok && ours!.ok && theirs!.value === ours!.value
}
