import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { parseJsonc } from "../../src/core/jsonc.ts"
import { settingsOf } from "../../src/core/settings.ts"
import { configFiles, inForce, replaceConfig } from "../../src/server/config-files.ts"
import { liveOptions } from "../../src/server/live-options.ts"
import { makeSettings, type SettingsDesk } from "../../src/server/settings.ts"

let box: string
let applied: [string, unknown][]
let desk: SettingsDesk
let env: Record<string, string>

const at = (...path: string[]) => join(box, ...path)
const global = (name: string) => at("home/.config/opencode", name)
const project = (name: string) => at("repo", name)
const places = () => ({
  root: at("repo"),
  from: at("repo"),
  url: pathToFileURL(at("kagan/dist/server.js")).href,
  env,
})

beforeEach(async () => {
  box = await realpath(await mkdtemp(join(tmpdir(), "kagan-settings-")))
  for (const folder of ["home/.config/opencode", "repo/sub/deep", "kagan/dist", "other"]) {
    await mkdir(at(folder), { recursive: true })
  }
  await put(at("kagan/package.json"), JSON.stringify({ name: "opencode-kagan" }))
  await put(at("kagan/dist/server.js"), "")
  await put(at("other/package.json"), JSON.stringify({ name: "something-else" }))
  env = { HOME: at("home") }
  applied = []
  desk = makeSettings({ places, apply: (option, value) => void applied.push([option, value]) })
})
afterEach(() => rm(box, { recursive: true, force: true }))

async function put(path: string, text: string | object) {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, typeof text === "string" ? text : JSON.stringify(text, null, 2))
}
const json = async (path: string) => {
  const read = parseJsonc(await readFile(path, "utf8"))
  if (!read.ok) throw new Error(read.error)
  return read.value as any
}
const value = async (option: string) => settingsOf(await desk.read()).find(({ row }) => row.path === option)!
async function write(file: string, option: string, next?: unknown) {
  const answer = await desk.write({ file, option, ...(next === undefined ? {} : { value: next }) })
  if (!answer.ok) throw new Error(answer.error.text)
  return answer.value
}

const COMMENTED = `{
  // the models
  "model": "a/b",
  "plugin": [
    "${"other"}@1", // somebody else's
    ["../kagan", {
      "inProgressLimit": 4 // four
    }]
  ]
}
`

describe("where an option comes from", () => {
  test("is the default without an entry, and the one file that counts with several", async () => {
    expect(await value("inProgressLimit")).toMatchObject({ value: 2 })
    expect((await value("inProgressLimit")).from).toBeUndefined()
    await put(global("opencode.json"), { plugin: [["opencode-kagan@1.0.0", { inProgressLimit: 5, mouse: false }]] })
    expect(await value("inProgressLimit")).toMatchObject({ value: 5, from: { scope: "global", counts: true } })
    await put(project("opencode.jsonc"), COMMENTED)
    expect(await value("inProgressLimit")).toMatchObject({ value: 4, from: { path: project("opencode.jsonc") } })
    // The global entry is shadowed as a whole.
    expect(await value("mouse")).toMatchObject({ value: true })
    const files = (await desk.read()).files.filter((file) => file.half === "server" && file.counts !== undefined)
    expect(files.map(({ counts }) => counts)).toEqual([false, true])
  })

  test("tui.json wins in what concerns the screen, and in nothing else", async () => {
    await put(project("opencode.json"), { plugin: [["../kagan", { mouse: true, inProgressLimit: 3 }]] })
    await put(project("tui.json"), {
      plugin: [["../kagan", { mouse: false, inProgressLimit: 9, keybinds: { a: "b" } }]],
    })
    expect(await value("mouse")).toMatchObject({ value: false, from: { path: project("tui.json") } })
    expect(await value("inProgressLimit")).toMatchObject({ value: 3, from: { path: project("opencode.json") } })
    expect(await value("keybinds")).toMatchObject({ value: { a: "b" } })
  })

  test("a bad value is named, and the default is shown", async () => {
    await put(project("opencode.json"), { plugin: [["../kagan", { inProgressLimit: 0 }]] })
    expect(await value("inProgressLimit")).toMatchObject({ value: 2, problem: "must be a whole number from 1 to 50" })
  })

  test("ours is known by path, link, address, package name, and folders on the way; others are not", async () => {
    await symlink(at("kagan"), at("link"))
    for (const spec of [
      at("kagan"),
      "../kagan",
      at("link"),
      pathToFileURL(at("kagan")).href,
      "opencode-kagan",
      "opencode-kagan@latest",
    ]) {
      await put(project("opencode.json"), { plugin: ["x", spec] })
      expect(inForce(await configFiles(places()), "server")?.entry, spec).toEqual({ index: 1, spec })
    }
    for (const spec of ["opencode-kagan-two", "@me/opencode-kagan", at("other"), "../nowhere", at("kaga")]) {
      await put(project("opencode.json"), { plugin: [spec] })
      expect(inForce(await configFiles(places()), "server"), spec).toBeUndefined()
    }
    await put(project("sub/opencode.json"), { plugin: [["opencode-kagan", { mouse: false }]] })
    const files = await configFiles({ ...places(), from: at("repo/sub/deep") })
    expect(inForce(files, "server")?.path).toBe(project("sub/opencode.json"))
    await put(project(".opencode/opencode.json"), { plugin: ["opencode-kagan"] })
    expect(inForce(await configFiles(places()), "server")?.path).toBe(project(".opencode/opencode.json"))
  })

  test("a file that cannot be read is named and never written", async () => {
    await put(project("opencode.json"), '{ "plugin": [')
    const file = (await desk.read()).files.find(({ path }) => path === project("opencode.json"))
    expect(file?.problem).toContain("cannot be read")
    const answer = await desk.write({ file: project("opencode.json"), option: "mouse", value: false })
    expect(answer).toMatchObject({ ok: false, error: { kind: "failed" } })
    expect(await readFile(project("opencode.json"), "utf8")).toBe('{ "plugin": [')
  })
})

describe("writing", () => {
  test("changes that option of our entry and not a character elsewhere, and it is in force", async () => {
    await put(project("opencode.jsonc"), COMMENTED)
    const { text, settings } = await write(project("opencode.jsonc"), "inProgressLimit", 7)
    expect(await readFile(project("opencode.jsonc"), "utf8")).toBe(COMMENTED.replace("4 // four", "7 // four"))
    expect(text).toBe("inProgressLimit: 7 (in force now)")
    expect(applied).toEqual([["inProgressLimit", 7]])
    expect(settingsOf(settings).find(({ row }) => row.path === "inProgressLimit")?.value).toBe(7)
    await write(project("opencode.jsonc"), "inProgressLimit")
    expect((await json(project("opencode.jsonc"))).plugin).toEqual(["other@1", ["../kagan", {}]])
    expect(applied.at(-1)).toEqual(["inProgressLimit", undefined])
  })

  test("into the file that does not count is said, and changes nothing that is in force", async () => {
    await put(global("opencode.json"), { plugin: ["opencode-kagan"] })
    await put(project("opencode.json"), { plugin: ["../kagan"] })
    const { text } = await write(global("opencode.json"), "mouse", false)
    expect(text).toBe(`mouse: false (without effect: the entry in ${project("opencode.json")} counts)`)
    expect(applied).toEqual([])
    expect((await json(global("opencode.json"))).plugin).toEqual([["opencode-kagan", { mouse: false }]])
  })

  test("into a project without an entry takes along what counted until then", async () => {
    await put(global("opencode.json"), {
      plugin: [[relative(dirname(global("x")), at("kagan")), { inProgressLimit: 5, mouse: false }]],
    })
    const { text } = await write(project("opencode.json"), "inProgressLimit", 6)
    expect(text).toBe("inProgressLimit: 6 (in force now)")
    expect(await json(project("opencode.json"))).toEqual({
      $schema: "https://opencode.ai/config.json",
      plugin: [[at("kagan"), { inProgressLimit: 6, mouse: false }]],
    })
  })

  test("what concerns the screen can stand in tui.json, and keybinds nowhere else", async () => {
    await put(project("opencode.json"), { plugin: ["../kagan"] })
    await put(project("tui.json"), { plugin: ["../kagan"] })
    await write(project("tui.json"), "mouse", false)
    expect((await json(project("tui.json"))).plugin).toEqual([["../kagan", { mouse: false }]])
    expect(applied).toEqual([])
    const { text } = await write(project("tui.json"), "keybinds", { "kagan.forward": "f" })
    expect(text).toContain("counts after a restart")
    for (const [file, option] of [
      [project("tui.json"), "inProgressLimit"],
      [project("opencode.json"), "keybinds"],
      [at("repo/package.json"), "mouse"],
    ] as const) {
      const answer = await desk.write({
        file,
        option,
        value: option === "keybinds" ? {} : option === "mouse" ? true : 3,
      })
      expect(answer).toMatchObject({ ok: false, error: { kind: "refused" } })
    }
  })

  test("a bad value or an unknown option is refused, and the file stays", async () => {
    await put(project("opencode.json"), { plugin: ["../kagan"] })
    for (const [option, bad] of [
      ["inProgressLimit", 0],
      ["odd", 1],
      ["worktree.root", "rel"],
    ] as const) {
      expect(await desk.write({ file: project("opencode.json"), option, value: bad })).toMatchObject({
        ok: false,
        error: { kind: "refused" },
      })
    }
    expect((await json(project("opencode.json"))).plugin).toEqual(["../kagan"])
  })

  test("a link stays a link, who may read it stays as it was, and nothing is left beside it", async () => {
    await put(at("dotfiles/opencode.json"), { plugin: ["../kagan"] })
    await chmod(at("dotfiles/opencode.json"), 0o600)
    await symlink(at("dotfiles/opencode.json"), project("opencode.json"))
    await put(project("opencode.json"), { plugin: ["../kagan"] })
    await write(project("opencode.json"), "mouse", false)
    expect((await lstat(project("opencode.json"))).isSymbolicLink()).toBe(true)
    expect((await stat(at("dotfiles/opencode.json"))).mode & 0o777).toBe(0o600)
    expect(await readdir(at("dotfiles"))).toEqual(["opencode.json"])
    expect((await readdir(at("repo"))).toSorted()).toEqual(["opencode.json", "sub"])
  })

  test("an edit of somebody else's in between is not lost", async () => {
    await put(project("opencode.json"), "{}")
    const answer = await replaceConfig(project("opencode.json"), "{ }", '{"plugin": []}')
    expect(answer).toMatchObject({ ok: false, error: expect.stringContaining("changed meanwhile") })
    expect(await readFile(project("opencode.json"), "utf8")).toBe("{}")
    expect((await readdir(at("repo"))).toSorted()).toEqual(["opencode.json", "sub"])
  })
})

describe("options while they change", () => {
  test("count at once, go back to the default when taken out, and keep what waits for a restart", () => {
    let changes = 0
    const options = liveOptions({ inProgressLimit: 3, worktree: { root: "/a" } }, () => void changes++)
    options.set("inProgressLimit", 9)
    options.set("intake.retries", 4)
    options.set("worktree.root", "/b")
    expect(options.now()).toMatchObject({
      inProgressLimit: 9,
      intake: { enabled: true, retries: 4 },
      worktree: { root: "/a" },
    })
    options.set("inProgressLimit", undefined)
    expect(options.now().inProgressLimit).toBe(2)
    expect(changes).toBe(3)
  })

  test("a bad one is named by its problem until it is mended", () => {
    const options = liveOptions({ mouse: 1 }, () => {})
    expect(options.problems()).toHaveLength(1)
    options.set("mouse", false)
    expect(options.problems()).toEqual([])
    expect(options.now().mouse).toBe(false)
  })
})
