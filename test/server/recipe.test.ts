import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { missingBoardText, ownSpec } from "../../src/server/entry.ts"
import { configText, mergeConfig, recipeEnv } from "../../src/server/recipe.ts"

let base: string
beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "kagan-recipe-")))
})
afterAll(() => rm(base, { recursive: true, force: true }))

async function folder(files: Record<string, string>): Promise<string> {
  const root = await mkdtemp(join(base, "root-"))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  return root
}

async function content(root: string, more: Partial<Parameters<typeof recipeEnv>[0]> = {}) {
  const recipe = await recipeEnv({ root, plugins: ["file:///p"], env: {}, ...more })
  if (!recipe.ok) throw new Error(recipe.error)
  return { env: recipe.value, config: JSON.parse(recipe.value.OPENCODE_CONFIG_CONTENT!) as Record<string, unknown> }
}

describe("the variables", () => {
  test("without any config file: nothing of the branch, our plugins, no installs", async () => {
    const { env } = await content(await folder({}))
    expect(env).toEqual({
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
      OPENCODE_CONFIG_DIR: undefined,
      OPENCODE_CONFIG_CONTENT: '{"plugin":["file:///p"]}',
      npm_config_offline: "true",
    })
  })

  test("the root's config, with comments, files made absolute, variables left to the host, plugins as told", async () => {
    const root = await folder({
      "opencode.json": `{
        // the model
        "model": "a/b",
        "plugin": ["./dist", "x@1"],
        "agent": {"a": {"prompt": "{file:./prompts/a b.md}"}, "b": {"prompt": "{file:~/b.md}"}, "c": {"prompt": "{file:/c.md}"}},
        "provider": {"p": {"options": {"apiKey": "{env:KEY}"}}},
      }`,
    })
    const { config } = await content(root, { plugins: ["file:///x", ["y", { z: 1 }]] })
    expect(config).toEqual({
      model: "a/b",
      plugin: ["file:///x", ["y", { z: 1 }]],
      agent: {
        a: { prompt: `{file:${join(root, "prompts/a b.md")}}` },
        b: { prompt: "{file:~/b.md}" },
        c: { prompt: "{file:/c.md}" },
      },
      provider: { p: { options: { apiKey: "{env:KEY}" } } },
    })
  })

  test("later files win as in the host: json, jsonc, folders down to where it was started, .opencode", async () => {
    const root = await folder({
      "opencode.json": '{"model": "1", "a": 1, "permission": "ask", "instructions": ["x"]}',
      "opencode.jsonc": '{"model": "2", "b": 2}',
      "sub/opencode.json": '{"model": "3", "c": 3, "instructions": ["y", "x"]}',
      "other/opencode.json": '{"model": "no"}',
      ".opencode/opencode.json": '{"model": "4", "d": 4, "permission": {"bash": "deny"}}',
    })
    const { env, config } = await content(root, { from: join(root, "sub") })
    expect(config).toEqual({
      model: "4",
      a: 1,
      b: 2,
      c: 3,
      d: 4,
      permission: { "*": "ask", bash: "deny" },
      instructions: ["x", "y"],
      plugin: ["file:///p"],
    })
    expect(env.OPENCODE_CONFIG_DIR).toBe(join(root, ".opencode"))
  })

  test("what the person set in the environment stays in force, on top", async () => {
    const root = await folder({ "opencode.json": '{"model": "1", "a": 1}', ".opencode/agent/x.md": "x" })
    const theirs = await folder({ "opencode.json": '{"model": "2", "b": 2}' })
    const env = { OPENCODE_CONFIG_CONTENT: '{"model": "3"}', OPENCODE_CONFIG_DIR: theirs }
    const both = await content(root, { env })
    expect(both.config).toMatchObject({ model: "3", a: 1, b: 2 })
    expect(both.env.OPENCODE_CONFIG_DIR).toBe(join(root, ".opencode"))
    const plain = await folder({ "opencode.json": '{"a": 1}' })
    expect((await content(plain, { env })).env.OPENCODE_CONFIG_DIR).toBe(theirs)
  })

  test("a person who switched project configuration off gets none of it", async () => {
    const root = await folder({ "opencode.json": '{"model": "1"}', ".opencode/opencode.json": '{"a": 1}' })
    const { env, config } = await content(root, { env: { OPENCODE_DISABLE_PROJECT_CONFIG: "true" } })
    expect(config).toEqual({ plugin: ["file:///p"] })
    expect(env.OPENCODE_CONFIG_DIR).toBeUndefined()
  })

  test("a config that cannot be read is a failure that names the file", async () => {
    const root = await folder({ "opencode.json": '{"model": ' })
    const recipe = await recipeEnv({ root, plugins: [], env: {} })
    expect(!recipe.ok && recipe.error).toContain(join(root, "opencode.json"))
    const list = await recipeEnv({ root: await folder({ "opencode.json": "[]" }), plugins: [], env: {} })
    expect(!list.ok && list.error).toContain("no object")
  })

  test("a variable that stands for no string is filled in", () => {
    process.env["KAGAN_TEST_NUMBER"] = "7"
    try {
      expect(configText('{"n": {env:KAGAN_TEST_NUMBER}, "s": "{env:KAGAN_TEST_NUMBER}"}', "/")).toEqual({
        ok: true,
        value: { n: 7, s: "7" },
      })
    } finally {
      delete process.env["KAGAN_TEST_NUMBER"]
    }
  })

  test("merging invents no prototype", () => {
    const evil = JSON.parse('{"__proto__": {"polluted": true}, "a": {"__proto__": {"x": 1}}}') as Record<
      string,
      unknown
    >
    const merged = mergeConfig({ a: {} }, evil)
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined()
    expect((merged as { polluted?: unknown }).polluted).toBeUndefined()
    expect(Object.keys(merged)).toContain("__proto__")
  })
})

describe("our own entry", () => {
  test.each([
    [["x", "file:///a/kagan"], "file:///a/kagan/dist/server.js", "file:///a/kagan"],
    [["file:///a/kag", "file:///a/kagan/"], "file:///a/kagan/dist/server.js", "file:///a/kagan/"],
    [
      [["file:///a/kagan/dist/server.js", { x: 1 }]],
      "file:///a/kagan/dist/server.js",
      "file:///a/kagan/dist/server.js",
    ],
    [
      ["opencode-kagan@0.1.0"],
      "file:///c/packages/k/node_modules/opencode-kagan/dist/server.js",
      "opencode-kagan@0.1.0",
    ],
    [["@me/kagan@1"], "file:///c/node_modules/@me/kagan/dist/server.js", "@me/kagan@1"],
    [["kagan", 7, null], "file:///c/node_modules/opencode-kagan/dist/server.js", undefined],
  ])("%j", (plugins, url, spec) => expect(ownSpec(plugins, url)).toBe(spec))
})

describe("a board that does not come up", () => {
  const url = (root: string) => pathToFileURL(join(root, "kagan/dist/server.js")).href
  const plugins = (root: string) => [pathToFileURL(join(root, "kagan")).href]
  const missing = (root: string, from = root) =>
    missingBoardText({ root, from, url: url(root), env: process.env, plugins: plugins(root) })

  test("the file beside the one that lists the server half lacks the same line", async () => {
    const root = await folder({ "opencode.json": '{"plugin": ["./kagan"]}' })
    expect(await missing(root)).toBe(
      `Kagan has no board here: ${join(root, "tui.json")} lacks the line "plugin": ["./kagan"]`,
    )
    const inner = await folder({ ".opencode/opencode.json": `{"plugin": [["../kagan", {"inProgressLimit": 1}]]}` })
    expect(await missing(inner)).toContain(`${join(inner, ".opencode/tui.json")} lacks the line "plugin": ["../kagan"]`)
  })

  test("the global file, when no project file lists it", async () => {
    const root = await folder({})
    expect(await missing(root)).toMatch(/opencode\/tui\.json lacks the line "plugin": \["file:\/\//)
  })

  test("a folder between the root and where the host was started counts, and the file is named as it is", async () => {
    const root = await folder({
      "opencode.json": '{"plugin": ["./kagan"]}',
      "app/tui.jsonc": '{"plugin": ["../kagan"]}',
    })
    expect(await missing(root)).toContain(`${join(root, "tui.json")} lacks`)
    expect(await missing(root, join(root, "app"))).toContain(`although ${join(root, "app/tui.jsonc")} lists it`)
  })

  test("a line that is there is not asked for", async () => {
    const root = await folder({ "opencode.json": '{"plugin": ["./kagan"]}', "tui.json": '{"plugin": ["./kagan"]}' })
    expect(await missing(root)).toContain("although")
  })
})
