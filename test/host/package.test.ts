import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startServer } from "../kit/host.ts"
import { startModel, type Model } from "../kit/model.ts"
import { checkout, makeSandbox } from "../kit/sandbox.ts"
import { startTui } from "../kit/terminal.ts"

/** What a person installs: `npm pack`, unpacked into a folder with nothing around it. */
interface Packed {
  readonly folder: string
  readonly files: readonly { readonly path: string; readonly size: number }[]
  readonly packedBytes: number
}

let scratch: string
let packed: Packed
let model: Model

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), "kagan-package-")))
  packed = await pack(scratch)
  model = await startModel()
})
afterAll(async () => {
  await model?.dispose()
  await rm(scratch, { recursive: true, force: true })
})

async function pack(into: string): Promise<Packed> {
  const out = await run("npm", ["pack", "--json", "--foreground-scripts=false", "--pack-destination", into], checkout)
  const [report] = JSON.parse(out)
  const folder = join(into, "unpacked")
  await mkdir(folder)
  await run("tar", ["-xzf", join(into, report.filename), "--strip-components=1", "-C", folder], into)
  return { folder, files: report.files, packedBytes: report.size }
}

function run(command: string, args: readonly string[], cwd: string) {
  return new Promise<string>((resolve, reject) => {
    execFile(command, args, { cwd }, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(" ")}: ${error.message}\n${stdout}${stderr}`))
      else resolve(stdout)
    })
  })
}

const inPackage = (path: string) => readFile(join(packed.folder, path), "utf8")

test("the package holds the two halves, their papers, and nothing else", async () => {
  for (const { path, size } of packed.files) console.log(`${(size / 1024).toFixed(1).padStart(8)} KiB  ${path}`)
  console.log(`${(packed.packedBytes / 1024).toFixed(1).padStart(8)} KiB  packed`)
  const papers = ["LICENSE", "README.md", "package.json"]
  const paths = packed.files.map((file) => file.path)
  expect(paths.toSorted()).toEqual(
    [...papers, "assets/kagan.schema.json", "dist/cli.js", "dist/server.js", "dist/tui.js"].toSorted(),
  )
  expect(packed.packedBytes).toBeLessThan(1024 * 1024)
})

test("installing it runs no script and brings no other package", async () => {
  const manifest = JSON.parse(await inPackage("package.json"))
  const atInstall = ["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare"]
  expect(Object.keys(manifest.scripts).filter((name) => atInstall.includes(name))).toEqual([])
  for (const kind of ["dependencies", "peerDependencies", "optionalDependencies", "bundleDependencies"])
    expect(manifest).not.toHaveProperty(kind)
  expect(manifest.engines).toEqual({ opencode: expect.stringMatching(/^>=/) })
})

test("its modules import only what the host or the runtime provides, and name no folder of the machine that built them", async () => {
  const provided = /^(node:.+|bun|bun:.+)$/
  const hostProvides = /^(solid-js|solid-js\/store|@opentui\/(core|solid|keymap)(\/.+)?)$/
  for (const file of ["dist/server.js", "dist/tui.js"]) {
    const code = await inPackage(file)
    const imported = [...code.matchAll(/^(?:import|export)\b[^"'`;]*?from\s+["']([^"']+)["']/gm)].map((hit) => hit[1]!)
    expect(imported).not.toEqual([])
    const foreign = imported.filter((id) => !provided.test(id) && (file === "dist/server.js" || !hostProvides.test(id)))
    expect(foreign, file).toEqual([])
    expect(code).not.toContain(checkout)
  }
})

test("its command line runs with Node alone", async () => {
  const cli = join(packed.folder, "dist/cli.js")
  const version = await run("node", [cli, "--version"], packed.folder)
  expect(version.trim()).toBe(JSON.parse(await inPackage("package.json")).version)
  expect(await run("node", [cli, "--help"], packed.folder)).toContain("opencode-kagan doctor --json")
})

test("both halves load in the real host from a folder with no node_modules", async () => {
  expect((await readdir(packed.folder)).toSorted()).not.toContain("node_modules")
  await using sandbox = await makeSandbox({
    model,
    // As the README has it: a plain path, in the project's two files, with options in the first.
    plugin: packed.folder,
    options: { inProgressLimit: 3 },
    where: "project",
  })

  const server = await startServer(sandbox)
  const agents = (await server.client.app.agents()).data!.map((agent) => agent.name)
  expect(agents, server.logs()).toContain("kagan-helper")
  await server.stop()

  const tui = await startTui(sandbox, { cols: 160, rows: 45 })
  await tui.waitFor("Model One")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("makes the first task")
  // The limit of that entry comes from the server half; the version is that of the package.
  await tui.waitFor(new RegExp(`kagan ${JSON.parse(await inPackage("package.json")).version} · 0/3`))
  await tui.quit()
})
