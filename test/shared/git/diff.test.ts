import { chmod, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { describeChange, unifiedText, type Diff, type DiffFile } from "../../../src/core/diff.ts"
import type { Location } from "../../../src/core/task.ts"
import { diffCommits, verifyLocations } from "../../../src/shared/git/diff.ts"
import { DiffParser } from "../../../src/shared/git/diff-parser.ts"
import { makeGit } from "../../../src/shared/git/runner.ts"
import { gitEnv, makeRepo } from "../../kit/repo.ts"
import { bench, failure, value, type Bench } from "./throwaway.ts"

const verdicts = async (it: Bench, diff: Diff, ...places: Location[]) =>
  value(await verifyLocations(it.opened, diff, places))
const lineOf = (file: DiffFile) =>
  `${file.path}: ${describeChange(file)} +${file.insertions ?? "-"} -${file.deletions ?? "-"}`

/** Commits the present state of the repository's files and answers its diff to the commit before. */
async function changed(it: Bench): Promise<Diff> {
  const from = (await it.repo.git("rev-parse", "HEAD")).trim()
  return value(await diffCommits(it.opened, from, await it.repo.commit("change")))
}

describe("names and kinds", () => {
  test("C029 quoted, escaped and foreign names are the real ones, on both sides of a rename", async () => {
    const text = "1\n2\n3\n4\n5\n"
    await using it = await bench({
      "café.ts": text,
      "日本語.ts": text,
      'we"ird.ts': text,
      "a\tb.ts": text,
      "plain.ts": `${text}x\n`,
    })
    for (const name of ["café.ts", "日本語.ts", 'we"ird.ts', "a\tb.ts"]) await it.repo.write(name, `0\n${text}`)
    await it.repo.git("mv", "plain.ts", "ünlü\nx.ts")
    const diff = await changed(it)
    expect(diff.files.map(lineOf)).toEqual([
      "a\tb.ts: modified +1 -0",
      "café.ts: modified +1 -0",
      'we"ird.ts: modified +1 -0',
      "ünlü\nx.ts: renamed from plain.ts +0 -0",
      "日本語.ts: modified +1 -0",
    ])
    const places = [
      { path: "café.ts", line: 1 },
      { path: "cafe\u0301.ts", line: 1 },
      { path: "b/日本語.ts", line: 1 },
    ]
    expect(await verdicts(it, diff, ...places)).toEqual(["verified", "verified", "verified"])
  })

  test("C031 changes without a hunk are entries of their own kind", async () => {
    const big = Array.from({ length: 30 }, (_, i) => `line ${i}`).join("\n")
    await using it = await bench({
      "big.txt": big,
      "run.sh": "#!/bin/sh\n",
      "gone.txt": "g\n",
      "src.txt": `${big}\nsource\n`,
    })
    await writeFile(join(it.repo.dir, "pic.bin"), Buffer.from([...Array(300).keys()].map((i) => i % 256)))
    await it.repo.commit("binary")
    await it.repo.git("mv", "big.txt", "big2.txt")
    await it.repo.git("mv", "pic.bin", "pic2.bin")
    await chmod(join(it.repo.dir, "run.sh"), 0o755)
    await it.repo.write("empty.txt", "")
    await rm(join(it.repo.dir, "gone.txt"))
    await it.repo.write("copy.txt", `${big}\nsource\n`)
    await it.repo.write("src.txt", `${big}\nsource changed\n`)
    const diff = await changed(it)
    expect(diff.files.map(lineOf)).toEqual([
      "big2.txt: renamed from big.txt +0 -0",
      "copy.txt: copied from src.txt +0 -0",
      "empty.txt: added empty +0 -0",
      "gone.txt: deleted +0 -1",
      "pic2.bin: renamed binary from pic.bin +- --",
      "run.sh: mode 644→755 +0 -0",
      "src.txt: modified +1 -1",
    ])
    expect(
      await verdicts(it, diff, { path: "run.sh" }, { path: "run.sh", line: 1 }, { path: "gone.txt", line: 1 }),
    ).toEqual(["file", "unchanged_line", "verified"])
  })

  test("C032 binaries are labelled and never printed; a link that became a file is one entry", async () => {
    await using it = await bench({ "was.txt": "text\n" })
    await writeFile(join(it.repo.dir, "bin.dat"), Buffer.from([0, 1, 2]))
    await writeFile(join(it.repo.dir, "old.dat"), Buffer.from([0, 9]))
    await symlink("was.txt", join(it.repo.dir, "link"))
    await it.repo.commit("before")
    await writeFile(join(it.repo.dir, "bin.dat"), Buffer.from([0, 1, 3]))
    await writeFile(join(it.repo.dir, "new.dat"), Buffer.alloc(1_000_000))
    await rm(join(it.repo.dir, "old.dat"))
    await rm(join(it.repo.dir, "link"))
    await it.repo.write("link", "now a file\n")
    const diff = await changed(it)
    expect(diff.files.map(lineOf)).toEqual([
      "bin.dat: modified binary +- --",
      "link: link → file +1 -1",
      "new.dat: added binary +- --",
      "old.dat: deleted binary +- --",
    ])
    expect(diff.files.filter((file) => file.nature === "binary").every((file) => file.hunks.length === 0)).toBe(true)
    expect(await verdicts(it, diff, { path: "link", line: 1 }, { path: "link", line: 2 })).toEqual([
      "verified",
      "no_line",
    ])
  })

  test("C013 a submodule is a pointer, old and new", async () => {
    await using it = await bench()
    await using sub = await makeRepo()
    await it.repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.dir, "lib")
    await it.repo.commit("submodule")
    const before = (await sub.git("rev-parse", "HEAD")).trim()
    const after = await sub.commit("moved")
    await it.repo.git("update-index", "--cacheinfo", `160000,${after},lib`)
    await it.repo.git("commit", "-q", "-m", "pointer")
    const diff = value(await diffCommits(it.opened, "HEAD^", "HEAD"))
    expect(diff.files.map(lineOf)).toEqual([`lib: submodule ${before.slice(0, 8)} → ${after.slice(0, 8)} +1 -1`])
    expect(diff.files[0]?.nature).toBe("submodule")
  })

  test("what decides more than its own content stands first and is marked", async () => {
    await using it = await bench()
    const files = [
      ".gitattributes",
      ".husky/pre-commit",
      ".opencode/plugin/x.ts",
      "a.txt",
      "AGENTS.md",
      "pkg/opencode.json",
      "z.ts",
    ]
    for (const name of files) await it.repo.write(name, "x\n")
    const diff = await changed(it)
    expect(diff.files.map((file) => [file.path, file.mark])).toEqual([
      [".gitattributes", "attributes"],
      [".husky/pre-commit", "hooks"],
      [".opencode/plugin/x.ts", "opencode"],
      ["AGENTS.md", "instructions"],
      ["pkg/opencode.json", "opencode"],
      ["a.txt", undefined],
      ["z.ts", undefined],
    ])
  })

  test("names that are not UTF-8 stay themselves", async () => {
    await using it = await bench()
    const name = Buffer.concat([Buffer.from(`${it.repo.dir}/caf`), Buffer.from([0xe9]), Buffer.from(".ts")])
    await writeFile(name, "x\n")
    const diff = await changed(it)
    expect(diff.files.map((file) => file.path)).toEqual(["caf\udce9.ts"])
    expect(await verdicts(it, diff, { path: "caf\udce9.ts", line: 1 })).toEqual(["verified"])
  })
})

describe("lines", () => {
  test("C033 a missing newline at the end is neither a line nor a change", async () => {
    await using it = await bench({ "n.txt": "one\ntwo\nthree" })
    await it.repo.write("n.txt", "one\ntwo\nthree\nfour\n")
    const diff = await changed(it)
    const [file] = diff.files
    expect(file).toMatchObject({ insertions: 2, deletions: 1 })
    expect(file!.hunks[0]).toMatchObject({
      added: [{ start: 3, end: 4 }],
      removed: [{ start: 3, end: 3 }],
      bareEnd: { old: true },
    })
    expect(await verdicts(it, diff, { path: "n.txt", line: 4 }, { path: "n.txt", line: 5 })).toEqual([
      "verified",
      "no_line",
    ])
  })

  test("C081 places that are not there are told apart, and nothing outside is looked at", async () => {
    const lines = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`)
    await using it = await bench({ "src/a.ts": `${lines.join("\n")}\n`, "src/same.ts": "1\n2\n" })
    await symlink("/etc", join(it.repo.dir, "out"))
    await it.repo.write("src/a.ts", `${lines.with(4, "changed").join("\n")}\n`)
    const diff = await changed(it)
    const places = [
      [{ path: "src/a.ts", line: 5 }, "verified"],
      [{ path: "./src/a.ts", line: 5 }, "verified"],
      [{ path: "src/a.ts", line: 3, endLine: 9 }, "verified"],
      [{ path: "src/a.ts", line: 14_342 }, "no_line"],
      [{ path: "src/a.ts", line: 0 }, "no_line"],
      [{ path: "src/a.ts", line: -3 }, "no_line"],
      [{ path: "src/a.ts", line: 1.5 }, "no_line"],
      [{ path: "src/a.ts", line: 30 }, "unchanged_line"],
      [{ path: "src/a.ts" }, "file"],
      [{ path: "src/same.ts", line: 2 }, "unchanged_line"],
      [{ path: "src/same.ts", line: 3 }, "no_line"],
      [{ path: "src/missing.ts", line: 4 }, "no_file"],
      [{ path: "../../etc/passwd", line: 1 }, "no_file"],
      [{ path: "/etc/passwd", line: 1 }, "no_file"],
      [{ path: "out/passwd", line: 1 }, "no_file"],
      [{ path: "" }, "none"],
    ] as const
    expect(await verdicts(it, diff, ...places.map(([place]) => place))).toEqual(places.map(([, verdict]) => verdict))
  })

  const blank = "one\n\nthree\nfour\n"
  test.each([
    ["diff.noprefix", "true"],
    ["diff.mnemonicPrefix", "true"],
    ["color.ui", "always"],
    ["diff.external", "false"],
    ["diff.relative", "true"],
    ["diff.orderFile", "/nonexistent"],
    ["core.pager", "false"],
    ["diff.srcPrefix", "old/"],
    ["diff.suppressBlankEmpty", "true"],
    ["diff.context", "0"],
    ["diff.interHunkContext", "20"],
    ["diff.algorithm", "histogram"],
    ["diff.renames", "false"],
    ["diff.ignoreSubmodules", "all"],
    ["diff.wordRegex", "."],
    ["core.quotePath", "true"],
    ["core.bigFileThreshold", "1"],
    ["core.attributesFile", "ATTRIBUTES"],
    ["diff.wsErrorHighlight", "all"],
  ])("C035 C036 %s=%s changes nothing of what is read", async (key, setting) => {
    await using it = await bench({ "blank.txt": blank, "z.txt": "z\n" })
    await writeFile(join(it.side, "attributes"), "* -diff\n")
    await it.repo.write("blank.txt", "one\n\nthree\nFOUR\n")
    await it.repo.write("z.txt", "zz\n")
    await it.repo.commit("change")
    await it.repo.git("config", key, setting.replace("ATTRIBUTES", join(it.side, "attributes")))
    const diff = value(await diffCommits(it.opened, "HEAD^", "HEAD"))
    expect(diff.files.map((file) => [file.path, unifiedText(file).text])).toEqual([
      ["blank.txt", "@@ -1,4 +1,4 @@\n one\n \n three\n-four\n+FOUR\n"],
      ["z.txt", "@@ -1 +1 @@\n-z\n+zz\n"],
    ])
    expect(await verdicts(it, diff, { path: "blank.txt", line: 4 })).toEqual(["verified"])
  })

  test("C035 nor does the environment", async () => {
    await using it = await bench({ "a.txt": "a\n" })
    await it.repo.write("a.txt", "b\n")
    await it.repo.commit("b")
    const env = {
      ...gitEnv(),
      GIT_EXTERNAL_DIFF: "true",
      GIT_PAGER: "false",
      GIT_DIFF_OPTS: "-u0",
      GIT_CONFIG_PARAMETERS: "'x'='y",
    }
    const diff = value(await diffCommits({ ...it.opened, git: makeGit({ env }) }, "HEAD^", "HEAD"))
    expect(diff.files.map(lineOf)).toEqual(["a.txt: modified +1 -1"])
  })

  test("attributes of the branch or of the shared folder cannot call code binary", async () => {
    await using it = await bench({ "code.ts": "good\n" })
    await it.repo.write(".gitattributes", "*.ts binary\n*.ts -diff\n")
    await it.repo.write("code.ts", "bad\n")
    await writeFile(join(it.repo.dir, "real.bin"), Buffer.from([0, 1, 2]))
    const first = await changed(it)
    expect(first.files.map(lineOf)).toEqual([
      ".gitattributes: added +2 -0",
      "code.ts: modified +1 -1",
      "real.bin: added binary +- --",
    ])
    await writeFile(join(it.repo.dir, ".git/info/attributes"), "*.ts -diff\n*.bin diff\n")
    const again = value(await diffCommits(it.opened, "HEAD^", "HEAD"))
    expect(again.files.map(lineOf)).toEqual(first.files.map(lineOf))
  })

  test("a replaced object is not shown in the place of the real one", async () => {
    await using it = await bench({ "a.txt": "a\n" })
    await it.repo.write("a.txt", "evil\n")
    const diff = await changed(it)
    const [file] = diff.files
    await it.repo.write("other", "harmless\n")
    const harmless = (await it.repo.git("hash-object", "-w", "other")).trim()
    await it.repo.git("replace", file!.newObject, harmless)
    const again = value(await diffCommits(it.opened, "HEAD^", "HEAD"))
    expect(unifiedText(again.files[0]!).text).toContain("+evil")
  })
})

describe("bounds and errors", () => {
  test("C039 a huge line and very many lines are counted whole and kept in part", async () => {
    await using it = await bench()
    await it.repo.write("min.js", "x".repeat(12_000_000))
    await it.repo.write("lock.json", `${Array.from({ length: 300_000 }, (_, i) => i).join("\n")}\n`)
    const diff = await changed(it)
    const [lock, min] = diff.files
    expect(lock).toMatchObject({
      path: "lock.json",
      insertions: 300_000,
      hunks: [{ added: [{ start: 1, end: 300_000 }] }],
    })
    expect(lock!.cut!.lines).toBeGreaterThan(100_000)
    expect(min).toMatchObject({ path: "min.js", insertions: 1 })
    expect(min!.cut!.bytes).toBeGreaterThan(11_000_000)
    const kept = diff.files.reduce((sum, file) => sum + file.hunks.reduce((all, hunk) => all + hunk.text.length, 0), 0)
    expect(kept).toBeLessThan(1_100_000)
    expect(unifiedText(lock!, 1_000)).toMatchObject({ cut: true })
    expect(await verdicts(it, diff, { path: "lock.json", line: 299_999 })).toEqual(["verified"])
  })

  test("C035 what cannot be read is an error and never 'no changes'", async () => {
    await using it = await bench()
    failure(await diffCommits(it.opened, "HEAD", "0".repeat(40)), "failed")
    const nul = "\0"
    const [one, two] = ["1".repeat(40), "2".repeat(40)]
    const record = `:100644 100644 ${one} ${two} M${nul}a${nul}`
    const patch = `diff --git a/a b/a\nindex ${one}..${two} 100644\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n`
    const whole = `${record}${nul}${patch}`
    const read = (text: string, size = 1) => {
      const parser = new DiffParser()
      const bytes = Buffer.from(text)
      for (let i = 0; i < bytes.length; i += size) parser.push(bytes.subarray(i, i + size))
      return parser.end()
    }
    expect(value(read(whole))).toEqual(value(read(whole, 1_000)))
    expect(value(read(whole))).toMatchObject([{ path: "a", insertions: 1, deletions: 1 }])
    expect(value(read(""))).toEqual([])
    for (const bad of [
      record,
      `${record}${nul}`,
      `${record}${nul}${patch.slice(0, 30)}`,
      whole.replace(`${one} `, `${two} `),
      whole.replace("+b\n", ""),
      whole.replace("+b\n", "+b\n+c\n"),
      whole.replace("+b\n", "?b\n"),
      whole.replace("@@ -1 +1 @@", "@@@ -1 -1 +1 @@@"),
      `${whole}diff --git a/b b/b\n`,
      `${whole}nonsense\n`,
      whole.replace(" M", " X"),
      whole.replace("diff --git", "diff --cc"),
      "fatal: nonsense\n",
    ]) {
      failure(read(bad), "unreadable")
      failure(read(bad, 1_000), "unreadable")
    }
  })
})

test("random edits: names, kinds and counts are git's, and the hunks applied to the old text give the new one", async () => {
  const line = fc.constantFrom(
    "a",
    "b",
    "c",
    "",
    " x",
    "-y",
    "+z",
    "@@ -1 +1 @@",
    "diff --git a/a b/a",
    "\\ No",
    "--- a",
    "é\r",
  )
  const body = fc.record({ lines: fc.array(line, { maxLength: 14 }), end: fc.boolean() })
  const path = fc.constantFrom("a", "b", "d/c", "d/e f", "ü", 'q"')
  const tree = fc.dictionary(path, body, { maxKeys: 5, noNullPrototype: true })
  const textOf = ({ lines, end }: { lines: string[]; end: boolean }) =>
    lines.join("\n") + (end && lines.length > 0 ? "\n" : "")
  await using it = await bench()
  await it.repo.git("config", "core.autocrlf", "false")
  const commit = async (files: Record<string, { lines: string[]; end: boolean }>) => {
    await it.repo.git("rm", "-rqf", "--ignore-unmatch", ".")
    for (const [name, content] of Object.entries(files)) await it.repo.write(name, textOf(content))
    return it.repo.commit("tree")
  }
  await fc.assert(
    fc.asyncProperty(tree, tree, async (before, after) => {
      const [from, to] = [await commit(before), await commit(after)]
      const diff = value(await diffCommits(it.opened, from, to))
      const args = ["-r", "--numstat", "-z", "-M50%", "-C50%", from, to]
      const numstat = (await it.repo.git("diff-tree", ...args)).split("\0")
      const counts: string[] = []
      for (let i = 0; i < numstat.length - 1; i++) {
        const [plus, minus, name] = numstat[i]!.split("\t")
        counts.push(`${plus} ${minus} ${name || numstat[(i += 2)]}`)
      }
      const ours = diff.files.map((file) => `${file.insertions} ${file.deletions} ${file.path}`)
      expect(ours.toSorted()).toEqual(counts.toSorted())
      for (const file of diff.files) {
        const old = file.kind === "added" ? "" : textOf(before[file.oldPath ?? file.path]!)
        const now = file.kind === "deleted" ? "" : textOf(after[file.path]!)
        expect(applyHunks(old, file)).toBe(now)
      }
    }),
    { numRuns: 20 },
  )
})

/** The new text by the model alone. */
function applyHunks(old: string, file: DiffFile): string {
  const lines = old === "" ? [] : old.replace(/\n$/, "").split("\n")
  const out: string[] = []
  let bare = !old.endsWith("\n")
  let at = 1
  for (const hunk of file.hunks) {
    const start = hunk.oldLines === 0 ? hunk.oldStart + 1 : hunk.oldStart
    while (at < start) out.push(lines[at++ - 1]!)
    expect(out.length + 1).toBe(hunk.newLines === 0 ? hunk.newStart + 1 : hunk.newStart)
    for (const line of hunk.text.split("\n").slice(0, -1)) {
      if (line[0] !== "+") expect(lines[at++ - 1]).toBe(line.slice(1))
      if (line[0] !== "-") out.push(line.slice(1))
    }
    if (at > lines.length) bare = hunk.bareEnd?.new === true
  }
  while (at <= lines.length) out.push(lines[at++ - 1]!)
  return out.length === 0 ? "" : out.join("\n") + (bare ? "" : "\n")
}
