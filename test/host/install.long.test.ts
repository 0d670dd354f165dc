import { execFile, execFileSync } from "node:child_process"
import { mkdir, mkdtemp, readFile, realpath, rm, stat } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, text, type Model } from "../kit/model.ts"
import { startRegistry, type Registry } from "../kit/registry.ts"
import { checkout, makeSandbox, opencodeBinary, pluginPath, seedDependencies, type Sandbox } from "../kit/sandbox.ts"
import { startTui } from "../kit/terminal.ts"

/** `opencode plugin`, the host's own installer, from a registry on loopback and from an unpacked folder. */
let scratch: string
let folder: string
let registry: Registry
let model: Model

beforeAll(async () => {
  pluginPath()
  scratch = await realpath(await mkdtemp(join(tmpdir(), "kagan-install-")))
  folder = join(scratch, "unpacked")
  await mkdir(folder)
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch]
  const [report] = JSON.parse(execFileSync("npm", args, { cwd: checkout, encoding: "utf8" }))
  const tarball = join(scratch, report.filename)
  execFileSync("tar", ["-xzf", tarball, "--strip-components=1", "-C", folder])
  registry = await startRegistry()
  await registry.publishTarball(tarball)
  model = await startModel(() => text("Done."))
})
afterAll(async () => {
  await registry?.dispose()
  await model?.dispose()
  await rm(scratch, { recursive: true, force: true })
})

function install(box: Sandbox, args: readonly string[]) {
  return new Promise<string>((resolve, reject) => {
    const env = { ...box.env, ...registry.env }
    execFile(opencodeBinary, ["plugin", ...args], { cwd: box.repo.dir, env, timeout: 300_000 }, (error, out, err) =>
      error ? reject(new Error(`${error.message}\n${out}${err}`)) : resolve(out + err),
    )
  })
}

describe.each([
  ["from a registry, for the project", (): string => "opencode-kagan", false],
  ["from a registry, for all projects", (): string => "opencode-kagan", true],
  ["from a folder, for the project", (): string => folder, false],
  ["from a folder, for all projects", (): string => folder, true],
] as const)("%s", (_what, spec, global) => {
  test("it names both halves, and both run", { timeout: 900_000 }, async () => {
    await using box = await makeSandbox({ model, plugin: false, where: global ? "project" : "global" })
    Object.assign(box.env, registry.env)
    await install(box, [spec(), ...(global ? ["--global"] : [])])
    const target = global ? join(box.home, ".config/opencode") : join(box.repo.dir, ".opencode")
    for (const name of ["opencode", "tui"]) {
      const file = await first([join(target, `${name}.json`), join(target, `${name}.jsonc`)])
      expect(await readFile(file, "utf8")).toContain(spec())
    }
    if (!global) await seedDependencies(target)
    const tui = await startTui(box, { cols: 120, rows: 30, env: { npm_config_offline: undefined } })
    await tui.waitFor("ctrl+p", 300_000)
    await tui.press("ctrl+x", "k")
    await tui.waitFor((screen) => screen.includes("0/2") && !/connecting|look only/.test(screen), 300_000)
    await tui.quit()
  })
})

test("/kagan-update at 80×24: the newer version is named in both files, and the board asks for a restart", async () => {
  await using box = await makeSandbox({ model, plugin: "opencode-kagan", where: "project" })
  Object.assign(box.env, registry.env)
  const tui = await startTui(box, { cols: 80, rows: 24, env: { npm_config_offline: undefined } })
  await tui.waitFor("ctrl+p", 300_000)
  await tui.slash("kagan")
  await tui.waitFor((screen) => screen.includes("0/2") && !/connecting|look only/.test(screen), 300_000)
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8"))
  const [half, version] = ["export default {}\n", "99.0.0"]
  const files = {
    "package.json": JSON.stringify({ ...manifest, version }),
    "dist/server.js": half,
    "dist/tui.js": half,
  }
  await registry.publish(files)
  await tui.press("q")
  await tui.waitFor("ctrl+p")
  await tui.slash("kagan-update")
  await tui.waitFor("Update to 99.0.0", 300_000)
  await tui.press("y")
  await tui.waitFor((screen) => screen.replace(/\s+/g, " ").includes(": restart OpenCode"), 300_000)
  for (const name of ["opencode", "tui"]) {
    const config = JSON.parse(await readFile(join(box.repo.dir, `${name}.json`), "utf8"))
    expect(config.plugin).toEqual(["opencode-kagan@99.0.0"])
  }
  await tui.press("esc")
  await tui.waitGone("Kagan: update")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("restart for 99.0.0")
  await tui.quit()
}, 900_000)

async function first(paths: readonly string[]): Promise<string> {
  for (const path of paths) if (await stat(path).catch(() => undefined)) return path
  throw new Error(`none of ${paths.join(", ")} is there`)
}
