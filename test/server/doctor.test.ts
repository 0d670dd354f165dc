import { chmod, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { hostname, tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { byUrgency, doctorSummary, doctorText } from "../../src/core/doctor.ts"
import { compareVersions, judgeHost, TESTED_HOSTS } from "../../src/core/host-version.ts"
import { readOptions } from "../../src/core/options.ts"
import { err, ok } from "../../src/core/result.ts"
import { runCommandLine } from "../../src/server/command-line.ts"
import { examine, repair, reportOf, type Found, type Patient } from "../../src/server/doctor/doctor.ts"
import { makeSettings } from "../../src/server/settings.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { openStore, type Store } from "../../src/shared/store.ts"
import { sampleMeta } from "../core/sample.ts"
import { bench, type Bench } from "../shared/git/throwaway.ts"

let it: Bench
let home: string
let store: Store
let env: Record<string, string>
let more: Partial<Patient>

beforeEach(async () => {
  it = await bench()
  home = await realpath(await mkdtemp(join(tmpdir(), "kagan-home-")))
  store = openStore(it.opened.commonDir, { clock: systemClock })
  await put(join(home, "kagan/package.json"), { name: "opencode-kagan" })
  await put(join(home, "kagan/dist/server.js"), "")
  await put(join(home, "bin/rg"), "")
  await chmod(join(home, "bin/rg"), 0o755)
  await put(config("opencode.json"), { plugin: [[join(home, "kagan"), {}]] })
  await put(config("tui.json"), { plugin: [join(home, "kagan")] })
  env = { HOME: home, PATH: join(home, "bin") }
  more = {}
})
afterEach(async () => {
  await it[Symbol.asyncDispose]()
  await rm(home, { recursive: true, force: true })
})

const config = (name: string) => join(it.repo.dir, name)
async function put(path: string, text: unknown) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, typeof text === "string" ? text : JSON.stringify(text, null, 2))
}
const json = async (path: string) => JSON.parse(await readFile(path, "utf8"))

function patient(): Patient {
  const places = {
    root: it.repo.dir,
    from: it.repo.dir,
    url: pathToFileURL(join(home, "kagan/dist/server.js")).href,
    env,
  }
  return {
    repository: it.opened,
    store,
    places,
    settings: makeSettings({ places: () => places, apply: () => {} }),
    worktreesRoot: join(it.side, "worktrees"),
    version: "1.0.0",
    hostVersion: TESTED_HOSTS.newest,
    board: { version: "1.0.0" },
    ...more,
  }
}
const look = () => examine(patient())
const find = async (id: string) => (await look()).find((finding) => finding.id === id)
const urgent = async () => reportOf((await look()).filter(({ level }) => level !== "fine")).findings

/** The finding is there and can be mended; mended, it is there no more, and mending it again is refused. */
async function mends(id: string): Promise<{ found: Found; said: string }> {
  const found = await find(id)
  expect(found, id).toMatchObject({ repair: expect.any(String), cause: expect.any(String) })
  const mended = await repair(patient(), id)
  if (!mended.ok) throw new Error(mended.error.text)
  expect((await find(id))?.repair, id).toBeUndefined()
  expect(await repair(patient(), id)).toMatchObject({ ok: false })
  return { found: found!, said: mended.value.text }
}

/** A process that is gone. */
const DEAD = { pid: 2 ** 22 - 1, start: "gone:1", host: hostname(), at: 1, nonce: "ab12" }

test("a healthy repository has nothing to say, in one line too", async () => {
  expect(await urgent()).toEqual([])
  const report = reportOf(await look())
  expect(doctorSummary(report)).toMatch(/^everything is fine \(\d+ things looked at\)$/)
  expect(report.findings.map(({ id }) => id)).toEqual(["host", "halves", "entries", "git", "identity", "root", "files"])
})

describe("the installation", () => {
  test.each([
    ["1.17.17", "older", "trouble"],
    ["1.17.18", "tested", "fine"],
    ["1.18.33", "tested", "fine"],
    ["1.18.34", "newer", "note"],
    ["2.0.0", "newer", "note"],
    ["1.18.33-beta.1", "tested", "fine"],
    ["odd", "unknown", "note"],
  ] as const)("OpenCode %s is %s", async (hostVersion, kind, level) => {
    more = { hostVersion }
    expect(judgeHost(hostVersion).kind).toBe(kind)
    expect(await find("host")).toMatchObject({ level })
  })

  test("the range is that of the package: its lower end in engines, its upper end what the tests run on", async () => {
    const manifest = await json("package.json")
    expect(manifest.engines.opencode).toBe(`>=${TESTED_HOSTS.oldest}`)
    expect(manifest.devDependencies["opencode-ai"]).toBe(TESTED_HOSTS.newest)
  })

  test("versions are ordered as semver has them", () => {
    const order = ["x", "1.0.0-alpha", "1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2.0.0"]
    for (const [i, a] of order.entries())
      for (const [j, b] of order.entries()) expect(Math.sign(compareVersions(a, b)), `${a} ${b}`).toBe(Math.sign(i - j))
  })

  test("two halves of two versions, and a search program that is missing, are said", async () => {
    more = { board: { version: "0.9.0" } }
    env = { ...env, PATH: "" }
    expect(await find("halves")).toMatchObject({
      level: "trouble",
      text: "the board is version 0.9.0, the server half 1.0.0",
    })
    expect(await find("ripgrep")).toMatchObject({ level: "note" })
  })
})

describe("the configuration", () => {
  test("a missing line for the board is added", async () => {
    await rm(config("tui.json"))
    await mends("entry:tui")
    expect(await json(config("tui.json"))).toEqual({ plugin: [join(home, "kagan")] })
  })

  test("a missing line for the half that acts is added to what the file has", async () => {
    await put(config("opencode.json"), '{\n  // mine\n  "model": "a/b"\n}\n')
    await mends("entry:server")
    const text = await readFile(config("opencode.json"), "utf8")
    expect(text).toContain("// mine")
    expect(JSON.parse(text.replace("// mine", ""))).toEqual({ model: "a/b", plugin: [join(home, "kagan")] })
  })

  test("a bad or unknown option is taken out, and nothing else", async () => {
    await put(config("opencode.json"), {
      plugin: [[join(home, "kagan"), { mice: 1, intake: { retries: 99 }, mouse: false }]],
    })
    await put(config("tui.json"), { plugin: [[join(home, "kagan"), { mouse: 3, keybinds: { "kagan.new": "a" } }]] })
    await mends("option:server:mice")
    await mends("option:server:intake.retries")
    await mends("option:tui:mouse")
    expect(await json(config("opencode.json"))).toEqual({ plugin: [[join(home, "kagan"), { mouse: false }]] })
    expect(await json(config("tui.json"))).toEqual({
      plugin: [[join(home, "kagan"), { keybinds: { "kagan.new": "a" } }]],
    })
  })

  test("unreadable files, two different packages, options that do not count, edits that wait: named, not mended", async () => {
    const global = join(home, ".config/opencode/opencode.json")
    await put(global, { plugin: [["opencode-kagan", { mouse: false }]] })
    await put(config("tui.json"), { plugin: ["opencode-kagan@0.9.0"] })
    await put(config("opencode.jsonc"), "{")
    more = { running: readOptions({ inProgressLimit: 7 }) }
    const found = await urgent()
    expect(found.map(({ id, level }) => [id, level])).toEqual([
      [`config:${config("opencode.jsonc")}`, "trouble"],
      ["entries", "trouble"],
      [`shadowed:${global}`, "note"],
      ["edited", "note"],
    ])
    for (const { id, repair: how } of found) {
      expect(how, id).toBeUndefined()
      expect(await repair(patient(), id)).toMatchObject({ ok: false, error: { kind: "refused" } })
    }
    expect(found[3]!.text).toContain("inProgressLimit")
  })
})

describe("git", () => {
  test("an unknown person, and a signature that cannot be made, are said with what to do", async () => {
    await it.repo.git("config", "--unset", "user.name")
    await it.repo.git("config", "commit.gpgSign", "true")
    expect(await find("identity")).toMatchObject({ level: "trouble", text: "git does not know your name" })
    expect(await find("signing")).toMatchObject({ level: "trouble", text: expect.stringContaining("gpg is not there") })
    await it.repo.git("config", "gpg.format", "ssh")
    await put(join(home, "bin/ssh-keygen"), "")
    await chmod(join(home, "bin/ssh-keygen"), 0o755)
    expect(await find("signing")).toMatchObject({ level: "trouble", text: expect.stringContaining("no key is named") })
    await it.repo.git("config", "user.signingKey", "~/.ssh/id.pub")
    expect(await find("signing")).toMatchObject({ level: "fine" })
  })
})

describe("worktrees", () => {
  async function plant(taskNumber: number, worktree: string) {
    const kagan = sampleMeta({ taskNumber, worktree, sessionID: `ses_${taskNumber}` })
    await store.writeJson(store.paths.record(taskNumber), { title: "T", sessionID: kagan.sessionID, kagan })
  }

  test("C111 one that a task names is no finding; with neither record nor session it is removed, its branch stays", async () => {
    const tree = await it.task("one")
    await plant(1, tree.dir)
    expect(await find(`worktree:${tree.dir}`)).toBeUndefined()
    await rm(store.paths.record(1))
    const { said } = await mends(`worktree:${tree.dir}`)
    expect(said).toContain("the branch kagan/one is still there")
    expect(await it.repo.git("worktree", "list")).not.toContain(tree.dir)
    expect(await it.repo.git("branch", "--list", "kagan/one")).toContain("kagan/one")
  })

  test("C111 one with neither record nor session that holds work is kept, and what would be lost is said", async () => {
    const tree = await it.task("two")
    await tree.write("new.txt", "work")
    const answer = await repair(patient(), `worktree:${tree.dir}`)
    expect(answer).toMatchObject({ ok: false, error: { text: expect.stringContaining("new.txt") } })
    expect(await readFile(join(tree.dir, "new.txt"), "utf8")).toBe("work")
  })

  test("one that a draft is being made in is no finding", async () => {
    const tree = await it.task("three")
    const made = [{ taskNumber: 3, branch: "kagan/three", worktree: tree.dir, baseBranch: "main", baseCommit: "c" }]
    await store.writeJson(store.paths.draft("d1"), { id: "d1", tasks: [{ title: "T", description: "" }], made, at: 1 })
    expect(await find(`worktree:${tree.dir}`)).toBeUndefined()
  })

  test("a lost link of git is written anew", async () => {
    const tree = await it.task("four")
    await plant(4, tree.dir)
    await writeFile(join(tree.dir, ".git"), `gitdir: ${join(it.side, "elsewhere/.git/worktrees/four")}\n`)
    await mends(`worktree:${tree.dir}`)
    expect(await it.repo.git("-C", tree.dir, "status", "--short")).toBe("")
  })

  test("what is not ours among them is named and left alone", async () => {
    await mkdir(join(it.side, "worktrees/stranger"), { recursive: true })
    const id = `foreign:${join(it.side, "worktrees/stranger")}`
    expect(await find(id)).toMatchObject({ level: "note" })
    expect(await repair(patient(), id)).toMatchObject({ ok: false })
  })

  test("a ref of no task goes when a branch has its commit, and stays when nothing else has", async () => {
    const merged = (await it.repo.git("rev-parse", "main")).trim()
    await it.repo.git("update-ref", "refs/kagan/7/1", merged)
    const tree = await it.task("five")
    await tree.write("a.txt", "only here")
    const snapshot = await tree.snapshot(1)
    await plant(8, tree.dir)
    await it.repo.git("update-ref", "refs/kagan/9/1", snapshot.commit)
    await mends("ref:refs/kagan/7/1")
    const lone = await find("ref:refs/kagan/9/1")
    expect(lone?.repair).toBeUndefined()
    expect(lone?.cause).toContain("git update-ref -d refs/kagan/9/1")
    expect((await it.repo.git("rev-parse", "refs/kagan/9/1")).trim()).toBe(snapshot.commit)
  })
})

describe("files", () => {
  test("a lock and a lease of a process that is gone are let go of", async () => {
    await put(join(store.dir, "lock"), DEAD)
    await put(join(store.paths.leases, "ses_1"), DEAD)
    await mends("lock")
    await mends("lease:ses_1")
    expect(await store.leases.holder("ses_1")).toEqual({ ok: true, value: undefined })
  })

  test("those of a living process, and of another machine, are left alone", async () => {
    await store.leases.take("ses_2")
    await put(join(store.paths.leases, "ses_3"), { ...DEAD, host: "elsewhere" })
    await put(join(store.dir, "lock"), { ...DEAD, host: "elsewhere" })
    expect(await find("lease:ses_2")).toBeUndefined()
    expect((await find("lease:ses_3"))?.repair).toBeUndefined()
    expect(await find("lock")).toMatchObject({ level: "trouble" })
    expect(await repair(patient(), "lock")).toMatchObject({ ok: false })
  })

  test("a counter that cannot be read counts on above every task", async () => {
    await store.writeJson(store.paths.record(41), {
      title: "T",
      sessionID: "ses_1",
      kagan: sampleMeta({ taskNumber: 41 }),
    })
    await put(join(store.dir, "counter.json"), '{"la')
    await mends("counter")
    expect(await store.nextTaskNumber()).toEqual({ ok: true, value: 42 })
  })

  test("a damaged record is written anew from its session, where one can ask", async () => {
    await put(store.paths.record(5), "{")
    expect((await find("record:5"))?.repair).toBeUndefined()
    const kagan = sampleMeta({ taskNumber: 5 })
    more = {
      writeRecord: async (taskNumber) => {
        if (taskNumber !== 5) return err("no")
        await store.writeJson(store.paths.record(5), { title: "T", sessionID: kagan.sessionID, kagan })
        return ok()
      },
    }
    await mends("record:5")
  })

  test("unreadable fields, claims of the dead, and drafts that cannot be read are named", async () => {
    const kagan = {
      ...sampleMeta({ taskNumber: 6, setup: { state: "running", at: 1, claim: DEAD } as never }),
      order: "first",
    }
    const other = sampleMeta({
      taskNumber: 7,
      sessionID: "ses_7",
      setup: { state: "running", at: 1, claim: DEAD } as never,
    })
    await store.writeJson(store.paths.record(6), { title: "T", sessionID: kagan.sessionID, kagan })
    await store.writeJson(store.paths.record(7), { title: "T", sessionID: "ses_7", kagan: other })
    await put(join(store.paths.drafts, "d.json"), "{}")
    const found = await urgent()
    expect(found.find(({ id }) => id === "record:6")).toMatchObject({
      level: "trouble",
      text: expect.stringContaining("order"),
    })
    expect(found.find(({ id }) => id === "claim:7:setup")).toMatchObject({ level: "note" })
    expect(found.find(({ id }) => id === "draft:d.json")).toMatchObject({ level: "trouble" })
  })
})

describe("the report", () => {
  test("puts trouble first, and says how each thing is mended", async () => {
    await put(join(store.dir, "lock"), DEAD)
    await put(join(store.dir, "counter.json"), "{")
    const report = reportOf(await look())
    expect(byUrgency(report)[0]).toMatchObject({ id: "counter", level: "trouble" })
    expect(byUrgency(report)[1]).toMatchObject({ id: "lock", level: "note" })
    const text = doctorText(report)
    expect(text).toContain("repair: opencode-kagan doctor --repair counter")
    expect(text).toMatch(/1 trouble, 1 note$/)
    expect(JSON.parse(JSON.stringify(report))).toEqual(report)
  })

  test("the command line answers with a code, as text or as JSON, and mends by name", async () => {
    ;(globalThis as any).__KAGAN_VERSION__ ??= "1.0.0"
    const world = { directory: it.repo.dir, env, url: pathToFileURL(join(home, "kagan/dist/cli.js")).href }
    await put(join(store.dir, "counter.json"), "{")
    expect((await runCommandLine(["doctor"], world)).code).toBe(1)
    const asJson = await runCommandLine(["doctor", "--json"], world)
    expect(JSON.parse(asJson.text).findings.map(({ id }: { id: string }) => id)).toContain("counter")
    expect(await runCommandLine(["doctor", "--repair", "counter"], world)).toMatchObject({ code: 0 })
    expect(await runCommandLine(["doctor", "--repair", "counter"], world)).toMatchObject({ code: 1 })
    expect((await runCommandLine(["doctor"], world)).text).toContain("Git")
    for (const wrong of [["docter"], ["doctor", "--x"], ["doctor", "--repair"]]) {
      expect(await runCommandLine(wrong, world)).toMatchObject({ code: 2 })
    }
    expect(await runCommandLine([], world)).toMatchObject({ code: 0, text: expect.stringContaining("--json") })
    expect(await runCommandLine(["doctor"], { ...world, directory: home })).toMatchObject({ code: 2 })
  })
})
