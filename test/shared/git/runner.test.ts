import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isAlive } from "../../../src/shared/git/alive.ts"
import { decodePath, encodePath, joinNul, splitNul } from "../../../src/shared/git/bytes.ts"
import { makeGit, type Git } from "../../../src/shared/git/runner.ts"
import { gitEnv } from "../../kit/repo.ts"
import { bench, failure, value, type Bench } from "./throwaway.ts"

/** A git whose program is a shell script of the test's own. */
async function pretend(it: Bench, script: string, env: Record<string, string> = {}): Promise<Git> {
  const bin = join(it.side, "bin")
  await mkdir(bin, { recursive: true })
  await writeFile(join(bin, "git"), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return makeGit({ env: { ...gitEnv(), ...env, PATH: `${bin}:${process.env.PATH}` } })
}

describe("a git call", () => {
  test("has a scrubbed environment, a fixed locale and nothing that prompts, pages or runs a program", async () => {
    await using it = await bench()
    const git = await pretend(it, 'env; echo "args: $*"; [ -t 0 ] || echo "no terminal"; cat', {
      GIT_DIR: "/elsewhere",
      GIT_TRACE: "1",
      GIT_CONFIG_COUNT: "1",
      GIT_SSH_COMMAND: "evil",
      GPG_TTY: "/dev/pts/0",
      SSH_ASKPASS: "evil",
      LC_ALL: "de_DE.UTF-8",
      LC_MESSAGES: "de_DE.UTF-8",
      LANGUAGE: "de",
      KEPT: "yes",
    })
    const said = value(await git.run(["status"], { cwd: it.repo.dir, env: { GIT_INDEX_FILE: "/i" } })).stdout.split(
      "\n",
    )
    const env = new Map(
      said.filter((line) => /^\w+=/.test(line)).map((line) => [line.split("=")[0]!, line.slice(line.indexOf("=") + 1)]),
    )
    for (const name of [
      "GIT_DIR",
      "GIT_TRACE",
      "GIT_CONFIG_COUNT",
      "GPG_TTY",
      "SSH_ASKPASS",
      "LC_MESSAGES",
      "LANGUAGE",
    ]) {
      expect(env.has(name), name).toBe(false)
    }
    expect(Object.fromEntries(env)).toMatchObject({
      KEPT: "yes",
      LC_ALL: "C",
      GIT_TERMINAL_PROMPT: "0",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_PAGER: "cat",
      GIT_EDITOR: ":",
      GIT_SSH_COMMAND: "false",
      GIT_INDEX_FILE: "/i",
      GIT_AUTHOR_NAME: "Test Person",
    })
    const args = said.find((line) => line.startsWith("args: "))!
    for (const setting of ["core.fsmonitor=false", "core.hooksPath=/dev/null", "core.sshCommand=false"])
      expect(args).toContain(setting)
    expect(args.endsWith(" status")).toBe(true)
    expect(said).toContain("no terminal")
  })

  test("as the person has their hooks, settings and pathspecs, and still no prompt", async () => {
    await using it = await bench()
    const git = await pretend(it, 'env; echo "args: $*"')
    const said = value(await git.run(["merge"], { cwd: it.repo.dir, asPerson: true })).stdout
    expect(said).toContain("args: merge\n")
    expect(said).not.toMatch(/GIT_LITERAL_PATHSPECS|GIT_NO_REPLACE_OBJECTS|GIT_OPTIONAL_LOCKS/)
    expect(said).toContain("GIT_TERMINAL_PROMPT=0\n")
  })

  test("that takes too long ends with its whole group, also when it ignores TERM", async () => {
    await using it = await bench()
    const git = await pretend(
      it,
      `trap '' TERM; sleep 1000 & echo $! >'${it.side}/pid'; echo "half way" >&2; wait; wait; sleep 1000`,
    )
    const refused = failure(await git.run(["fetch"], { cwd: it.repo.dir, timeoutMs: 700 }), "timed_out")
    expect(refused.text).toBe("git fetch did not end within 1 s")
    expect(refused.stderr).toBe("half way")
    expect(isAlive(Number(await readFile(join(it.side, "pid"), "utf8")))).toBe(false)
  })

  test("can be stopped", async () => {
    await using it = await bench()
    const git = await pretend(it, "exec sleep 1000")
    const stop = new AbortController()
    const running = git.run(["fetch"], { cwd: it.repo.dir, signal: stop.signal, onStart: () => stop.abort() })
    failure(await running, "stopped")
    failure(await git.run(["fetch"], { cwd: it.repo.dir, signal: stop.signal }), "stopped")
  })

  test("who stumbles over the answer while it comes ends the call with what went wrong", async () => {
    await using it = await bench()
    const onStdout = () => {
      throw new Error("no such field")
    }
    const failed = failure(await it.git.run(["rev-parse", "HEAD"], { cwd: it.repo.dir, onStdout }), "unreadable")
    expect(failed.text).toContain("no such field")
  })

  test("with endless output or endless complaints is bounded", async () => {
    await using it = await bench()
    const git = await pretend(it, "yes")
    failure(await git.run(["log"], { cwd: it.repo.dir, maxBytes: 100_000 }), "output_too_large")
    const loud = await pretend(it, "echo FIRST >&2; yes 2>/dev/null | head -c 3000000 >&2; echo LAST >&2; exit 3")
    const refused = failure(await loud.run(["log"], { cwd: it.repo.dir }), "failed")
    expect(refused.data.code).toBe(3)
    expect(refused.stderr!.length).toBeLessThan(70_000)
    expect(refused.stderr).toMatch(/^FIRST\n[^]*bytes left out[^]*LAST$/)
  })

  test("that is killed has not succeeded, and that ends before it has read its input has its own answer", async () => {
    await using it = await bench()
    const killed = await pretend(it, "kill -9 $$")
    expect(failure(await killed.run(["gc"], { cwd: it.repo.dir }), "killed").data.signal).toBe("SIGKILL")
    const deaf = await pretend(it, "exec 0<&-; exit 5")
    const refused = failure(await deaf.run(["x"], { cwd: it.repo.dir, stdin: "y".repeat(1_000_000) }), "failed")
    expect(refused.data.code).toBe(5)
  })

  test("fails with git's first words, keeps all of them, and takes allowed codes as an answer", async () => {
    await using it = await bench()
    const refused = failure(await it.git.run(["rev-parse", "nonsense"], { cwd: it.repo.dir }), "failed")
    expect(refused.text).toMatch(/^ambiguous argument 'nonsense'/)
    expect(refused.stderr).toContain("Use '--' to separate paths")
    const none = value(await it.git.run(["config", "--get", "no.such"], { cwd: it.repo.dir, okCodes: [0, 1] }))
    expect(none).toMatchObject({ code: 1, stdout: "" })
    failure(await it.git.run(["status"], { cwd: join(it.side, "nowhere") }), "folder_missing")
  })

  test("asks for the version once, and again after it was not found", async () => {
    await using it = await bench()
    const git = await pretend(it, `echo x >>'${it.side}/calls'; echo git version 2.45.1.windows.1`)
    expect((await Promise.all([git.version(), git.version()])).map(value)).toEqual(["2.45.1", "2.45.1"])
    expect(await readFile(join(it.side, "calls"), "utf8")).toBe("x\n")
    const late = makeGit({ env: { ...gitEnv(), PATH: join(it.side, "later") } })
    failure(await late.version(), "git_missing")
    await mkdir(join(it.side, "later"))
    await writeFile(join(it.side, "later", "git"), "#!/bin/sh\necho git version 2.39.0\n", { mode: 0o755 })
    expect(value(await late.version())).toBe("2.39.0")
  })
})

test("every name of bytes is text and becomes the same bytes again", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const path = decodePath(bytes)
      expect([...encodePath(path)]).toEqual([...bytes])
      expect(encodePath(JSON.parse(JSON.stringify(path)) as string)).toEqual(encodePath(path))
    }),
  )
  const name = fc.uint8Array({ minLength: 1, maxLength: 8 }).filter((bytes) => !bytes.includes(0))
  fc.assert(
    fc.property(fc.array(name), (names) => {
      const paths = names.map((bytes) => decodePath(bytes))
      expect(splitNul(joinNul(paths))).toEqual(paths)
    }),
  )
})
