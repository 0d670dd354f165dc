import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { err, ok } from "../../src/core/result.ts"
import type { SessionStatus } from "../../src/shared/host.ts"
import {
  ensureInstance,
  enterInstance,
  isServed,
  keepOutOfShells,
  leaveInstance,
  personEnv,
  servedDirectories,
  type EnsureInput,
} from "../../src/server/instances.ts"
import { RECIPE_VARIABLES } from "../../src/server/recipe.ts"

const values = () => Object.fromEntries(RECIPE_VARIABLES.map((name) => [name, process.env[name]]))

/** A host that boots an instance per directory, in which our half starts when the plugin is in force there. */
class FakeHost {
  readonly calls: string[] = []
  readonly instances = new Map<string, { ours: boolean; config: Record<string, string | undefined>; boot: object }>()
  busy: Record<string, SessionStatus> = {}
  failing: string | undefined
  /** Directories whose own configuration lists us. */
  readonly lists = new Set<string>()
  /** Called in the middle of a boot. */
  during: ((directory: string) => void) | undefined

  start(directory: string): void {
    if (this.instances.has(directory)) return
    const config = values()
    const plugins = (JSON.parse(config["OPENCODE_CONFIG_CONTENT"] ?? "{}") as { plugin?: string[] }).plugin ?? []
    const boot = {}
    let ours = false
    if (plugins.includes("file:///kagan") || this.lists.has(directory))
      ours = enterInstance(directory, boot) === "serve"
    this.instances.set(directory, { ours, config, boot })
  }

  readonly host: EnsureInput["host"] = {
    boot: async (directory) => {
      this.calls.push(`boot ${directory}`)
      if (this.failing) return err({ kind: "timeout", text: this.failing })
      await Promise.resolve()
      this.during?.(directory)
      this.start(directory)
      return ok()
    },
    config: async (directory) => {
      this.calls.push(`config ${directory}`)
      return ok({ plugin: ["file:///kagan"] })
    },
    disposeInstance: async (directory) => {
      this.calls.push(`dispose ${directory}`)
      this.start(directory)
      const instance = this.instances.get(directory)!
      this.instances.delete(directory)
      leaveInstance(directory, instance.boot)
      return ok()
    },
    statuses: async (directory) => {
      this.calls.push(`statuses ${directory}`)
      return ok(this.busy)
    },
    log: () => {},
  }
}

let root: string
let fake: FakeHost
const before = values()

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "kagan-instances-")))
  fake = new FakeHost()
})
afterEach(async () => {
  for (const [directory, { boot }] of fake.instances) leaveInstance(directory, boot)
  expect(servedDirectories()).toEqual([])
  expect(values()).toEqual(before)
  await rm(root, { recursive: true, force: true })
})

const ensure = (directory: string, more: Partial<EnsureInput> = {}) =>
  ensureInstance({ host: fake.host, root, directory, ...more })

describe("booting", () => {
  test("by the recipe, once, with the variables set for that step only", async () => {
    expect(await ensure("/wt")).toEqual({ ok: true, value: undefined })
    expect(fake.calls).toEqual([`config ${root}`, "boot /wt"])
    expect(fake.instances.get("/wt")!.config).toMatchObject({
      OPENCODE_DISABLE_PROJECT_CONFIG: "1",
      npm_config_offline: "true",
    })
    expect(values()).toEqual(before)
    fake.calls.length = 0
    await ensure("/wt")
    expect(fake.calls).toEqual([])
  })

  test("what the person had set comes back", async () => {
    process.env["npm_config_offline"] = "false"
    try {
      await ensure("/wt")
      expect(process.env["npm_config_offline"]).toBe("false")
    } finally {
      if (before["npm_config_offline"] === undefined) delete process.env["npm_config_offline"]
      else process.env["npm_config_offline"] = before["npm_config_offline"]
    }
  })

  test("many at once, one after the other, each once", async () => {
    const all = ["/a", "/b", "/a", "/c", "/b"]
    expect((await Promise.all(all.map((directory) => ensure(directory)))).every((result) => result.ok)).toBe(true)
    expect(fake.calls.filter((call) => call.startsWith("boot"))).toEqual(["boot /a", "boot /b", "boot /c"])
  })

  test("a failure is told, restores the variables and does not stand in the next one's way", async () => {
    fake.failing = "path.get: no answer within 30 s"
    expect(await ensure("/wt")).toEqual({ ok: false, error: { kind: "failed", text: fake.failing } })
    expect(values()).toEqual(before)
    fake.failing = undefined
    expect(await ensure("/wt")).toMatchObject({ ok: true })
  })

  test("an instance in which our half does not start is a failure in words", async () => {
    const host: EnsureInput["host"] = { ...fake.host, config: async () => ok({ plugin: [] }) }
    expect(await ensure("/wt", { host })).toMatchObject({ ok: false, error: { kind: "failed" } })
  })
})

describe("repair of an instance that was booted without us", () => {
  test("idle: disposed and booted anew, all under the recipe", async () => {
    fake.start("/wt")
    expect(isServed("/wt")).toBe(false)
    expect(await ensure("/wt")).toMatchObject({ ok: true })
    expect(fake.calls).toEqual([`config ${root}`, "boot /wt", "statuses /wt", "dispose /wt", "boot /wt"])
    expect(fake.instances.get("/wt")!.config["OPENCODE_DISABLE_PROJECT_CONFIG"]).toBe("1")
  })

  test("at work: left alone, and said", async () => {
    fake.start("/wt")
    fake.busy = { ses_1: { type: "busy" } }
    expect(await ensure("/wt")).toMatchObject({ ok: false, error: { kind: "busy" } })
    expect(fake.calls).not.toContain("dispose /wt")
    fake.busy = { ses_1: { type: "idle" } }
    expect(await ensure("/wt")).toMatchObject({ ok: true })
  })
})

describe("an instance that the host booted with us in it, and with what the branch brought", () => {
  const told: string[] = []
  const brings = (file: string | undefined): Partial<EnsureInput> => ({
    foreign: async () => file,
    onForeign: (_, found) => void told.push(found),
  })
  beforeEach(() => {
    told.length = 0
    // A tracked or a global entry lists us.
    fake.lists.add("/wt")
    fake.start("/wt")
    expect(isServed("/wt")).toBe(true)
  })

  test("is booted anew by the recipe, once, and it is told which file was in force", async () => {
    expect(await ensure("/wt", brings(".opencode/plugin/x.ts"))).toMatchObject({ ok: true })
    expect(fake.calls).toEqual([`config ${root}`, "boot /wt", "statuses /wt", "dispose /wt", "boot /wt"])
    expect(fake.instances.get("/wt")!.config["OPENCODE_DISABLE_PROJECT_CONFIG"]).toBe("1")
    fake.calls.length = 0
    expect(await ensure("/wt", brings(".opencode/plugin/x.ts"))).toMatchObject({ ok: true })
    expect(fake.calls).toEqual([])
    expect(told).toEqual([".opencode/plugin/x.ts"])
  })

  test("at work it is heard and left alone, and booted anew once that ended", async () => {
    fake.busy = { ses_1: { type: "busy" } }
    expect(await ensure("/wt", brings("opencode.json"))).toMatchObject({ ok: true })
    expect(fake.calls).not.toContain("dispose /wt")
    fake.busy = {}
    expect(await ensure("/wt", brings("opencode.json"))).toMatchObject({ ok: true })
    expect(fake.calls).toContain("dispose /wt")
    expect(told).toEqual(["opencode.json"])
  })

  test("is left as it is where the branch brought nothing", async () => {
    expect(await ensure("/wt", brings(undefined))).toMatchObject({ ok: true })
    expect(fake.calls).toEqual([])
  })
})

describe("one of us per instance", () => {
  test("a second copy in the same boot gets nothing; a new boot of the directory takes over", () => {
    const first = {}
    const second = {}
    expect(enterInstance("/wt", first)).toBe("serve")
    expect(enterInstance("/wt", first)).toBe("duplicate")
    expect(enterInstance("/wt", second)).toBe("serve")
    leaveInstance("/wt", first)
    expect(isServed("/wt")).toBe(true)
    leaveInstance("/wt", second)
    expect(isServed("/wt")).toBe(false)
  })

  test("another directory that the host boots in the middle of a step stays without us and is booted anew", async () => {
    fake.during = (directory) => directory === "/wt" && fake.start("/elsewhere")
    await ensure("/wt")
    expect(fake.calls).toEqual([`config ${root}`, "boot /wt", "dispose /elsewhere"])
    expect(isServed("/elsewhere")).toBe(false)
    expect(fake.instances.has("/elsewhere")).toBe(false)
    fake.start("/elsewhere")
    expect(fake.instances.get("/elsewhere")!.config).toEqual(before)
  })

  test("a worktree of the same checkout may boot with it", async () => {
    fake.during = (directory) => directory === "/wt" && fake.start("/wt2")
    await ensure("/wt", { family: (directory) => directory.startsWith("/wt") })
    expect(isServed("/wt2")).toBe(true)
  })
})

test("a command that starts in the middle of a step sees the variables as the person set them", async () => {
  const seen: Record<string, string>[] = []
  const outside: Record<string, string> = {}
  keepOutOfShells(outside)
  expect(outside).toEqual({})
  fake.during = () => {
    const env: Record<string, string> = { OPENCODE_CONFIG_DIR: "set by another plugin" }
    keepOutOfShells(env)
    seen.push(env)
    const ours = personEnv()
    expect(Object.fromEntries(RECIPE_VARIABLES.map((name) => [name, ours[name]]))).toEqual(before)
    expect(ours["PATH"]).toBe(process.env["PATH"])
  }
  await ensure("/wt")
  expect(personEnv()).toBe(process.env)
  expect(seen).toEqual([
    {
      OPENCODE_CONFIG_DIR: "set by another plugin",
      OPENCODE_DISABLE_PROJECT_CONFIG: before["OPENCODE_DISABLE_PROJECT_CONFIG"] ?? "",
      OPENCODE_CONFIG_CONTENT: before["OPENCODE_CONFIG_CONTENT"] ?? "",
      npm_config_offline: before["npm_config_offline"] ?? "",
    },
  ])
})
