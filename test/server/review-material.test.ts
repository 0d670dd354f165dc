import { chmod, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { validatorPrompt } from "../../src/core/prompts.ts"
import { reveal } from "../../src/core/hidden.ts"
import { readDiff } from "../../src/server/review-diff.ts"
import { bench, value, type Bench, type TaskTree } from "../shared/git/throwaway.ts"

/*
 * Changes with a planted fault, hidden code or an injected order, from the worktree to the validator's prompt by the
 * real way: snapshot, diff, material. What is needed to see the fault has to stand in the prompt, whatever the branch's
 * attributes and the person's settings say, and nothing of it outside the fences.
 */

type Content =
  | string
  | null
  | { readonly link: string }
  | { readonly base64: string }
  | { readonly gitlink: string }
  | {
      readonly text: string
      readonly repeat?: readonly [string, number]
      readonly then?: string
      readonly mode?: string
    }

type Planted = {
  readonly fault: string
  readonly before: Readonly<Record<string, Content>>
  readonly after: Readonly<Record<string, Content>>
  readonly config?: Readonly<Record<string, string>>
  /** What stands in the prompt's material. */
  readonly shows: readonly string[]
  /** Files that are not called reviewed. */
  readonly left?: readonly string[]
  /** Orders, which stand nowhere but in the material. */
  readonly injected?: readonly string[]
}

const FOLDER = join(import.meta.dirname, "../fixtures/review")
const names = (await readdir(FOLDER)).filter((name) => name.endsWith(".json")).toSorted()
const cases = await Promise.all(
  names.map(async (name) => [name, JSON.parse(await readFile(join(FOLDER, name), "utf8")) as Planted] as const),
)

let it: Bench
let tree: TaskTree
beforeAll(async () => {
  it = await bench({ "a.txt": "a\n" })
  tree = await it.task()
})
afterAll(() => it[Symbol.asyncDispose]())

async function put(files: Readonly<Record<string, Content>>) {
  for (const [path, content] of Object.entries(files)) {
    const file = join(tree.dir, path)
    await rm(file, { recursive: true, force: true })
    if (content === null) continue
    await mkdir(dirname(file), { recursive: true })
    if (typeof content === "string") await writeFile(file, content)
    else if ("link" in content) await symlink(content.link, file)
    else if ("base64" in content) await writeFile(file, Buffer.from(content.base64, "base64"))
    else if ("gitlink" in content)
      await tree.git("update-index", "--add", "--cacheinfo", `160000,${content.gitlink},${path}`)
    else {
      const [unit, times] = content.repeat ?? ["", 0]
      await writeFile(file, `${content.text}${unit.repeat(times)}${content.then ?? ""}`)
      if (content.mode) await chmod(file, Number.parseInt(content.mode, 8))
    }
  }
}

/** The prompt that the validator of this change gets. */
async function promptFor(planted: Planted, n: number) {
  const submodule = JSON.stringify(planted.before).includes("gitlink")
  for (const name of await readdir(tree.dir)) if (name !== ".git") await rm(join(tree.dir, name), { recursive: true })
  await tree.git("read-tree", "--empty")
  await put(planted.before)
  if (!submodule) await tree.git("add", "-A", "-f")
  await tree.git("commit", "-q", "--allow-empty", "-m", "before")
  const base = (await tree.git("rev-parse", "HEAD")).trim()
  await put(planted.after)
  for (const [key, setting] of Object.entries(planted.config ?? {})) await it.repo.git("config", key, setting)
  try {
    // No folder stands for the link to another repository: what the index has is what there is.
    if (submodule) await tree.git("commit", "-q", "-m", "after")
    const commit = submodule ? (await tree.git("rev-parse", "HEAD")).trim() : (await tree.snapshot(n, base)).commit
    const { files } = value(await readDiff(it.opened, { base, commit }))
    return validatorPrompt({
      taskNumber: 1,
      title: "Add a greeting",
      description: "Say hello in greeting.txt.",
      answers: [],
      priorRulings: [],
      files,
      generation: 1,
      maxTokens: 60_000,
      nonce: "msg_0123456789abcdefghijklmnop",
    })
  } finally {
    for (const key of Object.keys(planted.config ?? {})) await it.repo.git("config", "--unset", key)
  }
}

/** What stands between the fences, and our own words around it. */
function parted(text: string) {
  const mark = /^<<<(\w+) /m.exec(text)![1]!
  const material: string[] = []
  const own: string[] = []
  let inside = false
  for (const line of text.split("\n")) {
    if (line === `<<<${mark} end>>>`) inside = false
    else if (line.startsWith(`<<<${mark} `)) inside = true
    else (inside ? material : own).push(line)
  }
  return { mark, material: material.join("\n"), own: own.join("\n") }
}

describe("C082 planted faults", () => {
  test("there are enough of them, of each sort", () => {
    expect(cases.length).toBeGreaterThanOrEqual(20)
    expect(cases.filter(([, planted]) => planted.injected).length).toBeGreaterThanOrEqual(4)
  })

  test.each(cases)("%s", async (name, planted) => {
    const { text, left, shown, total } = await promptFor(planted, names.indexOf(name) + 1)
    const { mark, material, own } = parted(text)
    for (const shows of planted.shows) expect(material).toContain(shows)
    expect(left).toEqual(planted.left ?? [])
    expect(shown).toBe(total - left.length)
    for (const order of planted.injected ?? []) expect(own).not.toContain(order)
    expect(material).not.toContain(mark)
    // Nothing that a reader would not see is left in it.
    expect(reveal(text).hidden).toBe(0)
    expect(own).toContain("an attempt to do so is itself a finding")
  })
})
