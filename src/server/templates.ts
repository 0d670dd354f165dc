import { lstat, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type { ReplyOf, TaskTemplate } from "../core/protocol.ts"

const MOST = 100
const LONGEST = 64 * 1024

/**
 * The templates of a checkout: each `*.md` of `.kagan/templates`, its first heading as the title and the rest as the
 * description. Links are not followed, and what cannot be read says why in its place.
 */
export async function readTemplates(root: string): Promise<ReplyOf<"template.list">> {
  const folder = join(root, ".kagan", "templates")
  let names: string[]
  try {
    names = (await readdir(folder)).filter((name) => name.endsWith(".md")).toSorted()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return { folder, templates: [] }
    return { folder, templates: [], problem: `${folder} cannot be read: ${(cause as Error).message}` }
  }
  return { folder, templates: await Promise.all(names.slice(0, MOST).map((name) => readTemplate(folder, name))) }
}

async function readTemplate(folder: string, file: string): Promise<TaskTemplate> {
  const name = file.slice(0, -3)
  const unusable = (problem: string): TaskTemplate => ({ name, title: "", description: "", problem })
  try {
    const found = await lstat(join(folder, file))
    if (!found.isFile()) return unusable("is no plain file")
    if (found.size > LONGEST) return unusable(`is longer than ${LONGEST / 1024} KiB`)
    return { name, ...partsOf(await readFile(join(folder, file), "utf8")) }
  } catch (cause) {
    return unusable((cause as Error).message)
  }
}

/** `# Title`, then the description; without a heading all of it is description. */
function partsOf(text: string): Pick<TaskTemplate, "title" | "description"> {
  const heading = /^\s*#\s+(.+?)\s*(?:\r?\n|$)/.exec(text)
  return heading
    ? { title: heading[1]!, description: text.slice(heading[0].length).trim() }
    : { title: "", description: text.trim() }
}
