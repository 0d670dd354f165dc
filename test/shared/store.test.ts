import { existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { cp, mkdir, readdir, rename, rm, symlink, utimes } from "node:fs/promises"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { systemClock } from "../../src/shared/clock.ts"
import { openStore, type Store } from "../../src/shared/store.ts"
import { copiedFrom } from "../../src/shared/store/home.ts"
import { manualClock, settle } from "../kit/clock.ts"

const root = mkdtempSync(join(tmpdir(), "kagan-store-"))
afterAll(() => rmSync(root, { recursive: true, force: true }))

let serial = 0
let common: string
let store: Store

beforeEach(() => {
  common = join(root, `r${serial++}`)
  store = openStore(common, { clock: systemClock })
})

const value = <T>(result: { ok: boolean; value?: T }): T => {
  if (!result.ok) throw new Error(JSON.stringify(result))
  return result.value as T
}

/** Runs a piece of code in another process, with the store open; answers its exit code and what it wrote. */
async function elsewhere(code: string): Promise<{ code: number; out: string; pid: number }> {
  const script = `
    import { openStore } from ${JSON.stringify(join(import.meta.dirname, "../../src/shared/store.ts"))}
    import { systemClock } from ${JSON.stringify(join(import.meta.dirname, "../../src/shared/clock.ts"))}
    const store = openStore(${JSON.stringify(common)}, { clock: systemClock })
    ${code}`
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  const out = await new Response(child.stdout).text()
  return { code: await child.exited, out, pid: child.pid }
}

const die = `process.kill(process.pid, "SIGKILL")`

describe("files", () => {
  it("are written whole and read back, with their folder", async () => {
    const path = store.paths.record(7)
    expect(await store.writeJson(path, { a: 1 })).toEqual({ ok: true, value: undefined })
    expect(value(await store.readJson(path))).toEqual({ a: 1 })
    await store.writeJson(path, { a: 2 })
    expect(await readdir(store.paths.tasks)).toEqual(["7.json"])
  })

  it.each([
    ["missing", undefined],
    ["torn", ""],
    ["torn", '{"a": 1, "b": "x'],
    ["torn", "\0\0\0\0"],
    ["invalid", "{a: 1}"],
    ["io", "a folder"],
  ])("that cannot be read say how: %s", async (kind, text) => {
    const path = join(common, "x.json")
    await mkdir(common, { recursive: true })
    if (text === "a folder") await mkdir(path)
    else if (text !== undefined) writeFileSync(path, text)
    const read = await store.readJson(path)
    expect(read).toMatchObject({ ok: false, error: { kind } })
    expect(read.ok ? "" : read.error.text).toContain(path)
  })

  it("that cannot be written leave nothing behind", async () => {
    await mkdir(common, { recursive: true })
    writeFileSync(join(common, "kagan"), "a file where the folder should be")
    expect(await store.writeJson(store.paths.record(1), {})).toMatchObject({ ok: false, error: { kind: "io" } })
    expect(await readdir(common)).toEqual(["kagan"])
  })

  it("of lines survive a torn end", async () => {
    const path = store.paths.session("ses_1").history
    for (let n = 0; n < 3; n++) expect(store.append(path, { n }).ok).toBe(true)
    truncateSync(path, readFileSync(path).length - 4)
    expect(value(await store.readLines(path))).toMatchObject({ lines: [{ n: 0 }, { n: 1 }], bad: [{ line: 3 }] })
    store.append(path, { n: 3 })
    expect(value(store.readLinesNow(path))).toMatchObject({ lines: [{ n: 0 }, { n: 1 }, { n: 3 }], bad: [{ line: 3 }] })
    expect(value(await store.readLines(join(common, "none")))).toEqual({ lines: [], bad: [], size: 0 })
  })

  it("of lines are not mixed up by two writers", async () => {
    const path = store.paths.session("ses_1").history
    const write = (who: string) =>
      `for (let n = 0; n < 200; n++) store.append(${JSON.stringify(path)}, { who: "${who}", n })`
    await Promise.all([elsewhere(write("a")), elsewhere(write("b"))])
    const { lines, bad } = value(await store.readLines(path))
    expect([lines.length, bad.length]).toEqual([400, 0])
  })

  it("are watched, once for a burst", async () => {
    const clock = manualClock()
    const watched = openStore(common, { clock })
    let heard = 0
    const stop = value(watched.watch(watched.paths.tasks, () => void heard++))
    for (let n = 1; n <= 5; n++) await store.writeJson(store.paths.record(n), {})
    for (const end = Date.now() + 60_000; clock.pending() === 0 && Date.now() < end;) await new Promise(setImmediate)
    await clock.advance(20)
    expect(heard).toBe(1)
    stop()
    await clock.advance(1_000)
    expect([heard, clock.pending()]).toEqual([1, 0])
  })

  it("have names that no id can break out of", () => {
    for (const id of ["..", "a/b", "", ".x", "-x", "a\0", "x".repeat(129)]) {
      expect(() => store.paths.session(id), id).toThrow()
      expect(() => store.paths.draft(id), id).toThrow()
    }
    expect(store.paths.session("ses_1").outbox).toBe(join(common, "kagan/ses_1/outbox.jsonl"))
  })
})

describe("the repository's id", () => {
  it("is made once, whoever asks first, in whatever process", async () => {
    const ask = `console.log((await store.repoID()).value)`
    const others = await Promise.all([elsewhere(ask), elsewhere(ask), elsewhere(ask)])
    const own = value(await store.repoID())
    expect(new Set([...others.map((other) => other.out.trim()), own]).size).toBe(1)
    expect(own).toMatch(/^[0-9a-f-]{36}$/)
    expect(await readdir(store.dir)).toEqual(["id"])
  })

  it("is not made anew when it is damaged", async () => {
    await mkdir(store.dir, { recursive: true })
    writeFileSync(join(store.dir, "id"), "")
    expect(await store.repoID()).toMatchObject({ ok: false, error: { kind: "torn" } })
  })
})

describe("the repository's home", () => {
  it("tells a copy from a repository that was moved, or is reached by another path", async () => {
    await store.repoID()
    expect(value(await copiedFrom(common))).toBeUndefined()
    const [copy, moved, other] = ["copy", "moved", "other"].map((name) => `${common}-${name}`) as [
      string,
      string,
      string,
    ]
    await cp(common, copy, { recursive: true })
    expect(value(await copiedFrom(copy))).toBe(common)
    expect(value(await copiedFrom(copy))).toBe(common)
    expect(value(await copiedFrom(common))).toBeUndefined()
    await symlink(common, other)
    expect(value(await copiedFrom(other))).toBeUndefined()
    await rename(common, moved)
    expect(value(await copiedFrom(moved))).toBeUndefined()
    expect(value(await copiedFrom(moved))).toBeUndefined()
    await rename(moved, common)
    // On its own id a copy is a repository like any other.
    await rm(join(copy, "kagan"), { recursive: true })
    await openStore(copy, { clock: systemClock }).repoID()
    expect(value(await copiedFrom(copy))).toBeUndefined()
    await Promise.all([copy, other].map((path) => rm(path, { recursive: true })))
  })
})

describe("the lock", () => {
  it("lets one at a time in, within a process and across", async () => {
    const count = join(common, "count.json")
    await store.writeJson(count, 0)
    const add = async (one: Store) =>
      one.withLock(async () => {
        const before = value(await one.readJson(count)) as number
        await settle(3)
        await one.writeJson(count, before + 1)
      })
    const other = `
      for (let n = 0; n < 15; n++) {
        const held = await store.withLock(async () => {
          const before = (await store.readJson(${JSON.stringify(count)})).value
          await store.writeJson(${JSON.stringify(count)}, before + 1)
        })
        if (!held.ok) process.exit(1)
      }`
    const own = Array.from({ length: 15 }, () => add(store))
    const codes = await Promise.all([elsewhere(other), elsewhere(other), ...own])
    expect(codes.slice(0, 2).map((one) => (one as { code: number }).code)).toEqual([0, 0])
    expect(value(await store.readJson(count))).toBe(45)
    expect((await readdir(store.dir)).filter((name) => name.startsWith("lock"))).toEqual([])
  })

  it("is given back when the work throws", async () => {
    await expect(
      store.withLock(async () => {
        throw new Error("bug")
      }),
    ).rejects.toThrow("bug")
    expect(await store.withLock(async () => 1)).toEqual({ ok: true, value: 1 })
  })

  it("is waited for, and not for ever", async () => {
    const clock = manualClock()
    const first = openStore(common, { clock })
    const release = Promise.withResolvers<void>()
    const entered = Promise.withResolvers<void>()
    const held = store.withLock(async () => {
      entered.resolve()
      await release.promise
    })
    await entered.promise
    const waiting = first.withLock(async () => "in", 1_000)
    const state = { over: false }
    void waiting.then(() => (state.over = true))
    // Real file work lies between two steps of the manual clock.
    while (!state.over) {
      await clock.advance(50)
      await new Promise(setImmediate)
    }
    expect(await waiting).toMatchObject({ ok: false, error: { kind: "lock_busy" } })
    release.resolve()
    await held
  })

  it("of a dead process is taken over, also by many at once, by one at a time", async () => {
    await elsewhere(`await store.withLock(async () => ${die})`)
    expect(existsSync(join(store.dir, "lock"))).toBe(true)
    let inside = 0
    let most = 0
    const work = async () => {
      most = Math.max(most, ++inside)
      await new Promise(setImmediate)
      inside--
    }
    const stores = Array.from({ length: 8 }, () => openStore(common, { clock: systemClock }))
    const all = await Promise.all(stores.map((one) => one.withLock(work)))
    expect(all.every((one) => one.ok)).toBe(true)
    expect(most).toBe(1)
    expect((await readdir(store.dir)).filter((name) => name.startsWith("lock"))).toEqual([])
  })

  it("of a process that died while it took over a dead one's is taken over too", async () => {
    const dead = { pid: 1, start: "never", host: hostname(), at: 0 }
    await mkdir(store.dir, { recursive: true })
    writeFileSync(join(store.dir, "lock"), JSON.stringify({ ...dead, nonce: "aa" }))
    writeFileSync(join(store.dir, "lock.over-aa"), JSON.stringify({ ...dead, nonce: "bb" }))
    writeFileSync(join(store.dir, "lock.over-bb"), JSON.stringify({ ...dead, nonce: "cc" }))
    expect(await store.withLock(async () => 1)).toEqual({ ok: true, value: 1 })
  })

  it("of a recycled pid is that of a dead one", async () => {
    await mkdir(store.dir, { recursive: true })
    const claim = { ...store.self, start: "another start", nonce: "aa" }
    writeFileSync(join(store.dir, "lock"), JSON.stringify(claim))
    expect(store.alive(claim)).toBe(false)
    expect((await store.withLock(async () => 1)).ok).toBe(true)
  })

  it("that is torn counts as held while it is fresh, and as dead once it is old", async () => {
    await mkdir(store.dir, { recursive: true })
    const path = join(store.dir, "lock")
    writeFileSync(path, '{"pid":')
    expect(await store.withLock(async () => 1, 20)).toMatchObject({ ok: false, error: { kind: "lock_busy" } })
    const old = new Date(Date.now() - 60_000)
    await utimes(path, old, old)
    expect((await store.withLock(async () => 1)).ok).toBe(true)
  })
})

describe("task numbers", () => {
  it("are never given twice, whoever asks", async () => {
    const ask = `for (let n = 0; n < 10; n++) console.log((await store.nextTaskNumber()).value)`
    const own = Promise.all(Array.from({ length: 10 }, () => store.nextTaskNumber()))
    const others = await Promise.all([elsewhere(ask), elsewhere(ask)])
    const numbers = [
      ...others.flatMap((one) => one.out.trim().split("\n").map(Number)),
      ...(await own).map((one) => value(one)),
    ]
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
  })

  it("go on behind records, drafts and purged tasks", async () => {
    await store.writeJson(store.paths.record(41), {})
    expect(value(await store.nextTaskNumber(3))).toBe(42)
    await store.remove(store.paths.record(41))
    expect(value(await store.nextTaskNumber())).toBe(45)
    expect(await store.recordNumbers()).toEqual([])
  })

  it("are refused rather than used again when the counter is damaged", async () => {
    await mkdir(store.dir, { recursive: true })
    writeFileSync(join(store.dir, "counter.json"), '{"last": -1}')
    expect(await store.nextTaskNumber()).toMatchObject({ ok: false, error: { kind: "invalid" } })
  })
})

describe("leases", () => {
  const taking = `console.log((await store.leases.take("ses_1")).ok)`

  it("G51 belong to one process, which may take its own again", async () => {
    expect((await store.leases.take("ses_1")).ok).toBe(true)
    expect((await store.leases.take("ses_1")).ok).toBe(true)
    expect((await elsewhere(taking)).out.trim()).toBe("false")
    expect(value(await store.leases.holder("ses_1"))).toMatchObject({ mine: true, alive: true })
    expect((await elsewhere(`console.log(await store.leases.release("ses_1"))`)).out.trim()).toBe("false")
    expect(await store.leases.release("ses_1")).toBe(true)
    expect(await store.leases.release("ses_1")).toBe(false)
    expect(value(await store.leases.holder("ses_1"))).toBeUndefined()
    expect((await elsewhere(taking)).out.trim()).toBe("true")
  })

  it("G51 of a dead process are taken over by exactly one", async () => {
    await elsewhere(`await store.leases.take("ses_1"); ${die}`)
    expect(value(await store.leases.holder("ses_1"))).toMatchObject({ mine: false, alive: false })
    // Each stays alive until all have tried.
    const attempt = `const took = (await store.leases.take("ses_1")).ok
      store.append(${JSON.stringify(join(root, `tries${serial}`))}, took)
      while ((await store.readLines(${JSON.stringify(join(root, `tries${serial}`))})).value.lines.length < 4) await Bun.sleep(5)`
    await Promise.all(Array.from({ length: 4 }, () => elsewhere(attempt)))
    const { lines } = value(await store.readLines(join(root, `tries${serial}`)))
    expect(lines.filter((took) => took === true).length).toBe(1)
  })

  it("of another host are respected until a person takes them", async () => {
    await mkdir(store.paths.leases, { recursive: true })
    const claim = { pid: 1, start: "x", host: "another-machine", at: 5, nonce: "aa" }
    writeFileSync(join(store.paths.leases, "ses_1"), JSON.stringify(claim))
    expect(await store.leases.take("ses_1")).toMatchObject({
      ok: false,
      error: { kind: "held", text: "held by process 1 on another-machine" },
    })
    expect(value(await store.leases.holder("ses_1"))).toMatchObject({ mine: false, alive: "elsewhere" })
    expect((await store.leases.seize("ses_1")).ok).toBe(true)
    expect(value(await store.leases.holder("ses_1"))).toMatchObject({ mine: true })
  })

  it("make no file but their own", async () => {
    await store.leases.take("ses_1")
    expect(await readdir(store.paths.leases)).toEqual(["ses_1"])
  })
})

it("opening it writes nothing", () => {
  expect(existsSync(common)).toBe(false)
})
