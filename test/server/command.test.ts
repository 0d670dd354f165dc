import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest"
import { commandEndText, runCommand, type CommandResult } from "../../src/server/command.ts"
import { systemClock } from "../../src/shared/clock.ts"

let folder: string
beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "kagan-command-")))
})
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())

function run(command: string, over: { seconds?: number; signal?: AbortSignal; cwd?: string } = {}) {
  return runCommand({
    command,
    cwd: over.cwd ?? folder,
    timeoutMs: (over.seconds ?? 60) * 1000,
    clock: systemClock,
    ...(over.signal ? { signal: over.signal } : {}),
  })
}

const words = (result: CommandResult) => commandEndText(result.end)

/** Whether the process that wrote its number is there; one that is dead and not yet reaped is not. */
async function lives(pid: string): Promise<boolean> {
  const seen = await run(`ps -o stat= -p ${Number(pid)}`)
  return /^[^Z\s]/.test(seen.tail.trim())
}

async function gone(pid: string) {
  await vi.waitFor(async () => expect(await lives(pid)).toBe(false), { timeout: 60_000, interval: 100 })
}

describe("C087: a command that never ends", { timeout: 120_000 }, () => {
  test("ends at its limit, with the output so far and nothing of it left", async () => {
    const result = await run("echo $$; echo begun; tail -f /dev/null", { seconds: 1 })
    expect(words(result)).toBe("timed out after 1 s")
    expect(result.tail).toContain("begun")
    await gone(result.tail.split("\n")[0]!)
  })

  test("ends at the stop, even where it and its children are deaf to TERM", async () => {
    const stop = new AbortController()
    const running = run(`trap '' TERM; sh -c 'trap "" TERM; echo $$ >deaf; sleep 1000' & wait; sleep 1000`, {
      signal: stop.signal,
    })
    const pid = await vi.waitFor(
      async () => {
        const read = await run("cat deaf")
        expect(read.tail).toMatch(/^\d+\n$/)
        return read.tail.trim()
      },
      { timeout: 60_000, interval: 50 },
    )
    stop.abort()
    expect(words(await running)).toBe("stopped")
    await gone(pid)
  })

  test("is not begun when the stop came before it", async () => {
    const result = await run("echo x >begun", { signal: AbortSignal.abort() })
    expect(words(result)).toBe("stopped")
    expect((await run("test -e begun")).end).toEqual({ kind: "exited", code: 1 })
  })

  test("what it leaves in the background ends with it and changes nothing of its end", async () => {
    const held = await run("sleep 1000 & echo $!; exit 0")
    expect(held.end).toEqual({ kind: "exited", code: 0 })
    await gone(held.tail.trim())
    const apart = await run("sleep 1000 >/dev/null 2>&1 </dev/null & echo $!; exit 4")
    expect(apart.end).toEqual({ kind: "exited", code: 4 })
    await gone(apart.tail.trim())
  })
})

test("C088: of 100 MB the end is kept, and the true size is known", { timeout: 120_000 }, async () => {
  const before = process.memoryUsage().rss
  const result = await run("yes | head -c 104857600; echo LAST >&2; exit 3")
  expect(result.end).toEqual({ kind: "exited", code: 3 })
  expect(result.tail).toMatch(/LAST\n$/)
  expect(result.bytes).toBe(104_857_600 + 5)
  expect(result.tail.length).toBeLessThanOrEqual(64 * 1024)
  // What was kept, not what passed through: far below the size of the output.
  expect(process.memoryUsage().rss - before).toBeLessThan(80 * 1024 * 1024)
})

test("bytes that are no text, and lines that overwrite themselves, are harmless", async () => {
  const result = await run(String.raw`printf '\377\376\000ok\r50%%\r100%%\n'`)
  expect(result.end).toEqual({ kind: "exited", code: 0 })
  expect(result.tail).toContain("ok")
})

describe("C089: a command that wants a terminal or an answer", { timeout: 120_000 }, () => {
  const rows: readonly [command: string, passes: boolean, output: RegExp][] = [
    ['printf "Continue? "; read x; echo "got=$x"', true, /got=\n/],
    ['[ -t 0 ] || { echo "not a TTY" >&2; exit 1; }', false, /not a TTY/],
    ["git fetch https://user@127.0.0.1:1/private", false, /./],
    ["{ true >/dev/tty; } 2>/dev/null && echo reached || { echo unreachable; exit 1; }", false, /^unreachable\n$/],
  ]
  test.each(rows)("%s", async (command, passes, output) => {
    const result = await run(command)
    expect(result.end.kind).toBe("exited")
    expect(result.end.kind === "exited" && result.end.code === 0).toBe(passes)
    expect(result.tail).toMatch(output)
  })
})

describe("C091: killed by a signal", () => {
  const rows: readonly [command: string, words: string][] = [
    ["kill -9 $$", "killed by SIGKILL"],
    ["kill -TERM $$", "killed by SIGTERM"],
    ["exit 130", "exit 130"],
    ["sh -c 'kill -SEGV $$'; true", "exit 0"],
  ]
  test.each(rows)("%s: %s", async (command, expected) => {
    expect(words(await run(command))).toBe(expected)
  })
})

describe("C092: not found, not executable, another shell", () => {
  test("127 and 126 are said in words", async () => {
    await writeFile(join(folder, "run.sh"), "#!/bin/sh\n", { mode: 0o644 })
    expect(words(await run("definitely-not-a-command"))).toBe("exit 127: command not found")
    expect(words(await run("./run.sh"))).toBe("exit 126: not executable")
  })

  test("the shell is the person's, and it is named", async () => {
    vi.stubEnv("SHELL", "/bin/sh")
    expect((await run("echo $0")).shell).toBe("/bin/sh")
    vi.stubEnv("SHELL", "/no/such/shell")
    const none = await run("true")
    expect(none.end.kind).toBe("not_started")
    expect(none.shell).toBe("/no/such/shell")
  })

  test("64 KB of command are run", async () => {
    expect((await run("true;".repeat(13_000))).end).toEqual({ kind: "exited", code: 0 })
  })
})

test("C093: a folder that is gone, or is a file, is blamed itself", async () => {
  const missing = join(folder, "nowhere")
  expect(words(await run("true", { cwd: missing }))).toBe(`could not be started: the folder ${missing} is missing`)
  const file = join(folder, "file")
  await writeFile(file, "")
  expect(words(await run("true", { cwd: file }))).toBe(`could not be started: ${file} is not a folder`)
})
