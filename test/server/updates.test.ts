import { mkdir, mkdtemp, readFile, realpath, rm, stat, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest"
import { err, ok } from "../../src/core/result.ts"
import { personsNpm, type Npm } from "../../src/server/npm.ts"
import { makeUpdates } from "../../src/server/updates.ts"
import { startRegistry, type Registry } from "../kit/registry.ts"

/** The person's own npm, against a registry on loopback. */
let registry: Registry
let box: string

beforeAll(async () => {
  registry = await startRegistry()
})
afterAll(() => registry?.dispose())
beforeEach(async () => {
  registry.mood = "well"
  box = await realpath(await mkdtemp(join(tmpdir(), "kagan-updates-")))
  await mkdir(join(box, "repo"))
})
afterEach(() => rm(box, { recursive: true, force: true }))

const kagan = (version: string, more: object = {}, files: Record<string, string> = {}) => ({
  "package.json": JSON.stringify({
    name: "opencode-kagan",
    version,
    type: "module",
    exports: { "./server": "./dist/server.js", "./tui": "./dist/tui.js" },
    engines: { opencode: ">=1.17.18" },
    scripts: { postinstall: `touch ${join(box, "script-ran")}` },
    ...more,
  }),
  "dist/server.js": "export default {}",
  "dist/tui.js": "export default {}",
  ...files,
})

const SERVER = () => join(box, "repo/opencode.json")
const TUI = () => join(box, "repo/tui.json")
async function configured(spec = "opencode-kagan", other = spec) {
  await writeFile(SERVER(), `{\n  // mine\n  "plugin": ["x", ["${spec}", { "mouse": false }]]\n}\n`)
  await writeFile(TUI(), JSON.stringify({ plugin: [other] }))
}
const texts = () => Promise.all([SERVER(), TUI()].map((path) => readFile(path, "utf8")))

function desk(npm?: Npm, version = "0.1.0") {
  const places = () => ({
    root: join(box, "repo"),
    from: join(box, "repo"),
    url: pathToFileURL(join(box, "nowhere/server.js")).href,
    env: { HOME: box },
  })
  const env = () => ({ ...process.env, ...registry.env })
  return makeUpdates({ places, version, npm: npm ?? personsNpm(env, { viewMs: 60_000, installMs: 60_000 }) })
}
const ask = { hostVersion: "1.18.33", written: [] }

describe("against the registry", () => {
  test("same: nothing is offered", async () => {
    await registry.publish(kagan("0.1.0"))
    await configured()
    expect(await desk().check(ask)).toMatchObject({ kind: "same" })
  })

  test("newer: both files name it, everything else in them stays, no script has run", async () => {
    await registry.publish(kagan("0.2.0"))
    await configured("opencode-kagan", "opencode-kagan@latest")
    expect(await desk().check(ask)).toMatchObject({ kind: "newer", version: "0.2.0" })
    const done = await desk().install({ ...ask, version: "0.2.0" })
    expect(done).toMatchObject({ ok: true, value: { spec: "opencode-kagan@0.2.0" } })
    expect(done.ok && done.value.text).toContain("restart OpenCode")
    expect(await texts()).toEqual([
      '{\n  // mine\n  "plugin": ["x", ["opencode-kagan@0.2.0", { "mouse": false }]]\n}\n',
      JSON.stringify({ plugin: ["opencode-kagan@0.2.0"] }),
    ])
    expect(await stat(join(box, "script-ran")).catch(() => undefined)).toBeUndefined()
    // What it wrote itself it follows from then on; the same pin of the person's is left alone.
    expect(await desk().check({ ...ask, written: ["opencode-kagan@0.2.0"] })).toMatchObject({ kind: "newer" })
    expect(await desk().check(ask)).toMatchObject({ kind: "left" })
  })

  test("incompatible: said, never installed, since OpenCode would skip it in silence", async () => {
    await registry.publish(kagan("0.3.0", { engines: { opencode: ">=9.0.0" } }))
    await configured()
    const before = await texts()
    expect(await desk().check(ask)).toMatchObject({ kind: "incompatible", text: expect.stringContaining(">=9.0.0") })
    expect(await desk().install({ ...ask, version: "0.3.0" })).toMatchObject({ ok: false, error: { kind: "refused" } })
    expect(await texts()).toEqual(before)
  })

  test("corrupt: the old lines are put back", async () => {
    await registry.publish(kagan("0.4.0"))
    await configured()
    const before = await texts()
    registry.mood = "corrupt"
    const done = await desk().install({ ...ask, version: "0.4.0" })
    expect(done).toMatchObject({ ok: false, error: { kind: "failed" } })
    expect(!done.ok && done.error.text).toMatch(
      /^0\.4\.0 cannot be installed \(EINTEGRITY.*; the old version is named again$/,
    )
    expect(await texts()).toEqual(before)
  })

  test("a package that lacks a half is not installed", async () => {
    await registry.publish(kagan("0.5.0", { exports: { "./server": "./dist/server.js" } }))
    await configured()
    const before = await texts()
    const done = await desk().install({ ...ask, version: "0.5.0" })
    expect(!done.ok && done.error.text).toContain("the package has no tui half")
    expect(await texts()).toEqual(before)
  })

  test("offline, and an answer that is none: said in npm's words, nothing written", async () => {
    await configured()
    const before = await texts()
    registry.mood = "broken"
    expect(await desk().check(ask)).toMatchObject({ kind: "unknown" })
    const nobody = personsNpm(() => ({ ...process.env, ...registry.env, npm_config_registry: "http://127.0.0.1:9" }))
    const state = await desk(nobody).check(ask)
    expect(state).toMatchObject({ kind: "unknown", text: expect.stringContaining("ECONNREFUSED") })
    expect(await desk(nobody).install({ ...ask, version: "0.2.0" })).toMatchObject({ ok: false })
    expect(await texts()).toEqual(before)
  })

  test("slow: it is not waited for beyond its limit", async () => {
    await configured()
    registry.mood = "slow"
    const hasty = personsNpm(() => ({ ...process.env, ...registry.env }), { viewMs: 1_000, installMs: 1_000 })
    expect(await desk(hasty).check(ask)).toEqual({ kind: "unknown", text: "npm gave no answer within 1 s" })
  })

  test("without npm it says so", async () => {
    await configured()
    const none = personsNpm(() => ({ PATH: box }))
    expect(await desk(none).check(ask)).toEqual({ kind: "unknown", text: "npm is not installed" })
  })
})

describe("the two files", () => {
  const good: Npm = { newest: async () => ok({ version: "0.2.0" }), tryOut: async () => ok() }

  test.each([
    ["/path/kagan", "opencode-kagan"],
    ["opencode-kagan@0.1.0", "opencode-kagan@0.1.0"],
    ["opencode-kagan", "opencode-kagan@0.1.0"],
    ["opencode-kagan@next", "opencode-kagan@next"],
  ])("%s and %s are left alone, and the registry is not even asked", async (spec, other) => {
    await configured(spec, other)
    const before = await texts()
    let asked = 0
    const counting: Npm = { ...good, newest: async () => (asked++, ok({ version: "0.2.0" })) }
    expect(await desk(counting).check(ask)).toMatchObject({ kind: "left" })
    expect(await desk(counting).install({ ...ask, version: "0.2.0" })).toMatchObject({ ok: false })
    expect(asked).toBe(0)
    expect(await texts()).toEqual(before)
  })

  test("when one of them goes away meanwhile, nothing is written", async () => {
    await configured()
    const before = await texts()
    const meddling: Npm = {
      ...good,
      async newest() {
        await rm(TUI())
        return ok({ version: "0.2.0" })
      },
    }
    expect(await desk(meddling).install({ ...ask, version: "0.2.0" })).toMatchObject({ ok: false })
    expect(await readFile(SERVER(), "utf8")).toBe(before[0])
  })

  test("when the second cannot be written, the first is put back as it was, and nothing is tried out", async () => {
    await configured()
    // A name so long that no file can be written beside it: what replaces it has to have a longer one.
    const long = join(box, "repo", `${"t".repeat(240)}.json`)
    await writeFile(long, await readFile(TUI()))
    await rm(TUI())
    await symlink(long, TUI())
    const before = await texts()
    let tried = 0
    const counting: Npm = { ...good, tryOut: async () => (tried++, ok()) }
    const done = await desk(counting).install({ ...ask, version: "0.2.0" })
    expect(done).toMatchObject({ ok: false, error: { kind: "failed" } })
    expect(!done.ok && done.error.text).toMatch(
      /^nothing is updated: .*ENAMETOOLONG.*; the old version is named again$/,
    )
    expect(await texts()).toEqual(before)
    expect(tried).toBe(0)
  })

  test("what the person wrote beside it while it was tried out stays", async () => {
    await configured()
    const meddling: Npm = {
      ...good,
      async tryOut() {
        await writeFile(TUI(), '{ "theme": "x", "plugin": ["opencode-kagan@0.2.0"] }')
        return err("no room")
      },
    }
    const done = await desk(meddling).install({ ...ask, version: "0.2.0" })
    expect(!done.ok && done.error.text).toBe("0.2.0 cannot be installed (no room); the old version is named again")
    expect(await readFile(TUI(), "utf8")).toBe('{ "theme": "x", "plugin": ["opencode-kagan"] }')
    expect(await readFile(SERVER(), "utf8")).toContain('["opencode-kagan", { "mouse": false }]')
  })

  test("another version than the one that was offered is not installed unasked", async () => {
    await configured()
    expect(await desk(good).install({ ...ask, version: "0.1.9" })).toMatchObject({
      ok: false,
      error: { text: expect.stringContaining("0.2.0 is the newest") },
    })
  })

  test("a half without its entry is a case for the doctor", async () => {
    await configured()
    await rm(TUI())
    expect(await desk(good).check(ask)).toMatchObject({ kind: "left", text: expect.stringContaining("/kagan-doctor") })
  })
})
