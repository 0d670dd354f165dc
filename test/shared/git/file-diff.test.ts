import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { unifiedText } from "../../../src/core/diff.ts"
import { diffCommits } from "../../../src/shared/git/diff.ts"
import { countChanges, fileChange, firstBytes, listChanges } from "../../../src/shared/git/file-diff.ts"
import { bench, value, type Bench } from "./throwaway.ts"

const head = async (it: Bench) => (await it.repo.git("rev-parse", "HEAD")).trim()

describe("the diff file by file", () => {
  const text = Array.from({ length: 30 }, (_, i) => `line ${i}\n`).join("")

  test("list, sizes and lines say the same as the whole diff: quoted names, renames, binaries, links, modes (C029, C031, C032)", async () => {
    await using it = await bench({
      "café.ts": text,
      'we"ird [1]*.ts': text,
      "a\tb.ts": text,
      "plain.ts": text,
      "run.sh": "#!/bin/sh\n",
      "gone.txt": "g\n",
      "pic.bin": "\0\u0001\u0002",
    })
    const from = await head(it)
    for (const name of ["café.ts", 'we"ird [1]*.ts', "a\tb.ts"]) await it.repo.write(name, `0\n${text}`)
    await it.repo.git("mv", "plain.ts", "ünlü\nx.ts")
    await it.repo.write("ünlü\nx.ts", `${text}more\n`)
    await it.repo.git("update-index", "--chmod=+x", "run.sh")
    await it.repo.git("rm", "-q", "gone.txt")
    await it.repo.write("pic.bin", "\0\u0001\u0003")
    await it.repo.write("empty.txt", "")
    await it.repo.write(".husky/pre-commit", "true\n")
    await it.repo.git("add", "-A")
    await it.repo.git("update-index", "--chmod=+x", "run.sh")
    await it.repo.git("commit", "-qm", "change")
    const to = await head(it)

    const whole = value(await diffCommits(it.opened, from, to))
    const listed = value(await listChanges(it.opened, from, to))
    const plain = ({ path, oldPath, kind, newObject }: (typeof listed)[number]) => ({ path, oldPath, kind, newObject })
    expect(listed.map(plain)).toEqual(whole.files.map(plain))
    expect(listed[0]).toMatchObject({ path: ".husky/pre-commit", mark: "hooks" })

    const sizes = value(await countChanges(it.opened, from, to))
    for (const file of whole.files) {
      const size = file.nature === "binary" ? null : [file.insertions ?? 0, file.deletions ?? 0]
      expect([file.path, sizes.get(file.path)]).toEqual([file.path, size])
      const one = value(await fileChange(it.opened, from, to, { path: file.path, oldPath: file.oldPath ?? file.path }))
      expect({ ...one, oldPath: one?.oldPath }).toEqual({ ...file, oldPath: file.oldPath })
    }
    expect(value(await fileChange(it.opened, from, to, { path: "nowhere.ts" }))).toBeUndefined()
  })

  test("what attributes of the shared git folder call binary is read as text; its first bytes are had on demand", async () => {
    await using it = await bench({ "a.ts": "one\n", "b.bin": "\0a" })
    const from = await head(it)
    await it.repo.write("a.ts", "two\n")
    await it.repo.write("b.bin", `\0${"b".repeat(5000)}`)
    const to = await it.repo.commit("change")
    await writeFile(join(it.opened.commonDir, "info", "attributes"), "*.ts binary\n")
    const file = value(await fileChange(it.opened, from, to, { path: "a.ts" }))
    expect(file?.nature).toBe("text")
    expect(unifiedText(file!).text).toContain("+two")
    const binary = value(await fileChange(it.opened, from, to, { path: "b.bin" }))
    expect(binary?.nature).toBe("binary")
    expect(value(await firstBytes(it.opened, binary!.newObject, 16)).toString()).toBe(`\0${"b".repeat(15)}`)
  })

  test("C039 a large file is counted whole, kept in part, and had in whole when it is asked for", async () => {
    await using it = await bench({ "a.ts": "one\n" })
    const from = await head(it)
    await it.repo.write("lock.json", Array.from({ length: 100_000 }, (_, i) => `${i}\n`).join(""))
    const to = await it.repo.commit("change")
    expect(value(await countChanges(it.opened, from, to)).get("lock.json")).toEqual([100_000, 0])
    const part = value(await fileChange(it.opened, from, to, { path: "lock.json" }))
    expect(part).toMatchObject({ insertions: 100_000, cut: { lines: expect.any(Number) } })
    const whole = value(await fileChange(it.opened, from, to, { path: "lock.json", whole: true }))
    expect(whole?.cut).toBeUndefined()
  })
})
