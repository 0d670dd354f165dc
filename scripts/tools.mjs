// The development dependencies, among them two programs of other packages: bun, and OpenCode itself. Plain Node.
import { spawnSync } from "node:child_process"
import { readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..")
export const BUN = join(ROOT, "node_modules/bun/bin/bun.exe")
export const OPENCODE = join(ROOT, "node_modules/opencode-ai/bin/opencode.exe")

/** Both packages ship a short script in the place of the program, which their install script replaces. */
const PROGRAMS = [
  { program: BUN, script: "node_modules/bun/install.js" },
  { program: OPENCODE, script: "node_modules/opencode-ai/postinstall.mjs" },
]
const SHORTEST_PROGRAM = 1024 * 1024

/**
 * Makes sure that every development dependency is installed at its pinned version (`npm ci` if not) and that the two
 * programs are there also where npm runs no install scripts. Writes to standard error only. Throws when it cannot.
 */
export function ensureTools() {
  if (missing().length > 0) {
    console.error(
      `Installing the development dependencies, OpenCode among them (npm ci; not yet here: ${missing()[0]}) …`,
    )
    const npm = process.platform === "win32" ? "npm.cmd" : "npm"
    // Standard output belongs to the caller's results.
    const installed = spawnSync(npm, ["ci", "--no-audit", "--no-fund"], { cwd: ROOT, stdio: ["ignore", 2, 2] })
    if (installed.status !== 0) throw new Error(`npm ci failed${installed.error ? `: ${installed.error.message}` : ""}`)
  }
  for (const { program, script } of PROGRAMS) {
    if (isProgram(program)) continue
    const made = spawnSync(process.execPath, [join(ROOT, script)], { cwd: ROOT, stdio: ["ignore", 2, 2] })
    if (made.status !== 0 || !isProgram(program)) throw new Error(`${script} did not put ${program} in place`)
  }
}

/** The development dependencies that are absent or of another version than package.json pins. */
function missing() {
  const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"))
  return Object.entries(devDependencies)
    .filter(([name, version]) => installedVersion(name) !== version)
    .map(([name]) => name)
}

function installedVersion(name) {
  const manifest = ifThere(() => readFileSync(join(ROOT, "node_modules", name, "package.json"), "utf8"))
  return manifest === undefined ? undefined : JSON.parse(manifest).version
}

const isProgram = (path) => (ifThere(() => statSync(path).size) ?? 0) > SHORTEST_PROGRAM

function ifThere(read) {
  try {
    return read()
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}
