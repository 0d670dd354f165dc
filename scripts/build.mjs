// Bundles the two halves and the command line: src/server.ts -> dist/server.js, src/tui.tsx -> dist/tui.js,
// src/cli.ts -> dist/cli.js. Plain Node.
//   node scripts/build.mjs [--force] [--quiet] [--root <checkout>]
import { createHash } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { withBuildLock } from "./build-lock.mjs"

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "..")

/** The modules that the host provides at run time; everything else that we import from npm is bundled in. */
const HOST_MODULES = [
  "solid-js",
  "solid-js/store",
  "@opentui/core",
  "@opentui/solid",
  "@opentui/solid/components",
  "@opentui/solid/jsx-runtime",
  "@opentui/keymap",
  "@opentui/keymap/addons",
  "@opentui/keymap/addons/opentui",
  "@opentui/keymap/extras",
  "@opentui/keymap/extras/graph",
  "@opentui/keymap/opentui",
  "@opentui/keymap/solid",
]

const HALVES = [
  { entry: "src/server.ts", file: "server.js", provided: [] },
  { entry: "src/tui.tsx", file: "tui.js", provided: HOST_MODULES },
  // Started by Node, not loaded by the host.
  { entry: "src/cli.ts", file: "cli.js", provided: [], program: true },
]

/**
 * Builds both halves unless sources, dependencies and outputs are what they were at the last build. Outputs appear by
 * rename, and of several processes that build at once one builds and the others find its result.
 *
 * @param {{ root?: string, force?: boolean }} [options] `root` is the checkout to build (default: this one)
 * @returns {Promise<{ built: boolean, ms: number, files: { path: string, bytes: number }[] }>}
 */
export async function build({ root = ROOT, force = false } = {}) {
  const start = performance.now()
  const done = (built) => ({ built, ms: Math.round(performance.now() - start), files: outputs(root) })
  if (!force && isFresh(root)) return done(false)
  return withBuildLock(join(root, ".tmp", "build.lock"), async () => {
    if (!force && isFresh(root)) return done(false)
    // Taken before the sources are read: an edit during the build makes the next one build again.
    const inputs = inputDigest(root)
    const staging = join(root, ".tmp", "build")
    try {
      rmSync(staging, { recursive: true, force: true })
      mkdirSync(staging, { recursive: true })
      for (const half of HALVES) writeFileSync(join(staging, half.file), await bundle(root, half))
      mkdirSync(join(root, "dist"), { recursive: true })
      for (const half of HALVES) renameSync(join(staging, half.file), join(root, "dist", half.file))
      writeFileSync(join(staging, "stamp"), stamp(root, inputs))
      renameSync(join(staging, "stamp"), stampPath(root))
    } finally {
      rmSync(staging, { recursive: true, force: true })
    }
    return done(true)
  })
}

async function bundle(root, half) {
  // Loaded only when there is something to build: an unchanged checkout answers in a few milliseconds.
  const [{ rolldown }, { solidJsx }] = await Promise.all([import("rolldown"), import("./solid-jsx.mjs")])
  const version = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version
  const bundled = await rolldown({
    input: join(root, half.entry),
    cwd: root,
    platform: "node",
    external: (id) => HOST_MODULES.includes(id) || isRuntimeModule(id),
    transform: { define: { __KAGAN_VERSION__: JSON.stringify(version) } },
    plugins: [solidJsx()],
    // How long a plugin takes on a busy machine is no fault of the sources.
    checks: { pluginTimings: false },
    onLog(level, log) {
      // What the bundler cannot resolve it would leave to the host, which then drops the whole half in silence.
      if (level === "warn") throw new Error(`${half.entry}: ${log.message}`)
    },
  })
  try {
    const { output } = await bundled.generate({ format: "esm", minify: false, codeSplitting: false })
    const [chunk] = output
    if (output.length !== 1 || chunk.type !== "chunk") throw new Error(`${half.entry} did not become one file`)
    refuseWhatTheHostCannotLoad(root, half, chunk)
    return chunk.code
  } finally {
    await bundled.close()
  }
}

const isRuntimeModule = (id) => id.startsWith("node:") || id === "bun" || id.startsWith("bun:")

/**
 * The host finds its own modules in our text with patterns that want `from "x"` (with the space), and shows nothing when
 * a half cannot be loaded, so both are checked here, where they can be seen.
 */
function refuseWhatTheHostCannotLoad(root, half, chunk) {
  for (const id of [...chunk.imports, ...chunk.dynamicImports]) {
    if (isRuntimeModule(id)) continue
    if (!half.provided.includes(id))
      throw new Error(`${half.entry} imports ${id}, which the host does not provide there`)
    if (!new RegExp(`(from\\s+|import\\s+|import\\s*\\(\\s*)["']${id}["']`).test(chunk.code))
      throw new Error(`${half.entry}: its bundle names ${id} in a form that the host overlooks`)
  }
  if (!half.program && !chunk.exports.includes("default")) throw new Error(`${half.entry} has no default export`)
  if (chunk.code.includes(root)) throw new Error(`${half.file} contains the path of this checkout`)
}

function isFresh(root) {
  try {
    return readFileSync(stampPath(root), "utf8") === stamp(root, inputDigest(root))
  } catch (error) {
    if (error.code === "ENOENT") return false
    throw error
  }
}

const stampPath = (root) => join(root, ".tmp", "build.stamp")

/** Both sides of a build in one line: equal text means that building again would change nothing. */
const stamp = (root, inputs) =>
  [inputs, ...HALVES.map((half) => digest(readFileSync(join(root, "dist", half.file))))].join(" ")

/** The sources, what turns them into a bundle, and the versions of what is bundled with them. */
function inputDigest(root) {
  const files = [
    ...filesUnder(join(root, "src")),
    ...["build.mjs", "build-lock.mjs", "solid-jsx.mjs"].map((name) => join(ROOT, "scripts", name)),
    join(root, "package.json"),
    join(ROOT, "package-lock.json"),
  ]
  const lines = files.map((path) => `${relative(root, path)} ${digest(readFileSync(path))}`)
  return digest(lines.toSorted().join("\n"))
}

const filesUnder = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const digest = (data) => createHash("sha256").update(data).digest("hex")

const outputs = (root) =>
  HALVES.map(({ file }) => ({ path: `dist/${file}`, bytes: statSync(join(root, "dist", file)).size }))

if (process.argv[1] !== undefined && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { force: { type: "boolean" }, quiet: { type: "boolean" }, root: { type: "string" } },
  })
  const result = await build({ force: values.force ?? false, root: resolve(values.root ?? ROOT) })
  if (!values.quiet) {
    const sizes = result.files.map(({ path, bytes }) => `${path} ${(bytes / 1024).toFixed(0)} KiB`).join(", ")
    console.log(`${result.built ? "built" : "unchanged"}: ${sizes} (${result.ms} ms)`)
  }
}
