import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"

const BUILD = resolve(import.meta.dirname, "../../scripts/build.mjs")

const SOURCES: Readonly<Record<string, string>> = {
  "package.json": JSON.stringify({ name: "mini", version: "1.2.3", type: "module" }),
  "src/core/words.ts": `declare const __KAGAN_VERSION__: string
export const version: string = __KAGAN_VERSION__
`,
  "src/server.ts": `import { join } from "node:path"
import { version } from "./core/words.ts"
export default { id: "mini", server: async () => ({ at: join("a", version) }) }
`,
  "src/cli.ts": `#!/usr/bin/env node
import { version } from "./core/words.ts"
process.stdout.write(version)
`,
  "src/tui.tsx": `import { createSignal, For } from "solid-js"
import { createStore } from "solid-js/store"
import { useTerminalDimensions } from "@opentui/solid"
import { version } from "./core/words.ts"
function View(props: { names: readonly string[] }) {
  const [n, setN] = createSignal(0)
  const [store] = createStore({ size: useTerminalDimensions() })
  return (
    <box onMouseDown={() => setN(n() + 1)}>
      <For each={props.names}>{(name) => <text>{name} {n()} {store.size().width} {version}</text>}</For>
    </box>
  )
}
export default { id: "mini", tui: async () => View }
`,
}

let root: string

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "kagan-build-")))
  for (const [path, content] of Object.entries(SOURCES)) await write(path, content)
})
afterEach(() => rm(root, { recursive: true, force: true }))

async function write(path: string, content: string) {
  await mkdir(dirname(join(root, path)), { recursive: true })
  await writeFile(join(root, path), content)
}

/** Under plain Node, as a person's `npm run build` does it. */
function build(...args: string[]) {
  return new Promise<{ code: number; out: string }>((done) => {
    execFile("node", [BUILD, "--root", root, ...args], (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code ?? 1), out: stdout + stderr })
    })
  })
}

const dist = (name: string) => readFile(join(root, "dist", name), "utf8")
const imported = (code: string) => [...code.matchAll(/^import .* from "([^"]+)";$/gm)].map((hit) => hit[1]).toSorted()

test("both halves become one module each, with the JSX compiled and the host's modules left to the host", async () => {
  expect(await build()).toMatchObject({ code: 0, out: expect.stringMatching(/^built: /) })
  const [server, tui] = [await dist("server.js"), await dist("tui.js")]
  expect(imported(server)).toEqual(["node:path"])
  expect(imported(tui)).toEqual(["@opentui/solid", "solid-js", "solid-js/store"])
  expect(tui).toContain('createElement("box")')
  expect(tui).not.toContain("<box")
  for (const code of [server, tui]) {
    expect(code).toContain('"1.2.3"')
    expect(code).not.toContain("__KAGAN_VERSION__")
    expect(code).not.toContain(root)
  }
  expect((await readdir(join(root, "dist"))).toSorted()).toEqual(["cli.js", "server.js", "tui.js"])
  expect(await dist("cli.js")).toMatch(/^#!\/usr\/bin\/env node\n/)
})

test("an unchanged checkout is not built again; a changed source, and a damaged output, are", async () => {
  await build()
  const first = await stat(join(root, "dist/server.js"))
  expect((await build()).out).toMatch(/^unchanged: /)
  expect((await stat(join(root, "dist/server.js"))).ino).toBe(first.ino)

  await write("src/core/words.ts", 'export const version = "changed"\n')
  expect((await build()).out).toMatch(/^built: /)
  expect(await dist("tui.js")).toContain("changed")

  await rm(join(root, "dist/tui.js"))
  expect((await build()).out).toMatch(/^built: /)
  await writeFile(join(root, "dist/tui.js"), "half a fi")
  expect((await build()).out).toMatch(/^built: /)
  expect(await dist("tui.js")).toContain("changed")
})

test("of four builds at once one builds and the others find its result", async () => {
  const results = await Promise.all([build(), build(), build(), build()])
  expect(results.map((result) => result.code)).toEqual([0, 0, 0, 0])
  expect(results.filter((result) => result.out.startsWith("built: "))).toHaveLength(1)
  expect(await readdir(join(root, ".tmp"))).toEqual(["build.stamp"])
})

test("the lock of a process that died is taken over", async () => {
  const gone = await new Promise<number>((done) => {
    const child = execFile("node", ["--version"], () => done(child.pid!))
  })
  await write(".tmp/build.lock", String(gone))
  expect(await build()).toMatchObject({ code: 0 })
  expect(await readdir(join(root, ".tmp"))).toEqual(["build.stamp"])
})

test.each([
  ["an import that nobody provides", "src/server.ts", 'import x from "no-such-package"\nexport default { x }\n'],
  ["a file that is not there", "src/server.ts", 'import { x } from "./gone.ts"\nexport default { x }\n'],
  [
    "a host module in the half that has none",
    "src/server.ts",
    'import { render } from "@opentui/solid"\nexport default { render }\n',
  ],
  ["a half without a default export", "src/tui.tsx", "export const tui = 1\n"],
])("%s fails the build and leaves the last one in place", async (_, path, content) => {
  await build()
  const before = [await dist("server.js"), await dist("tui.js")]
  await write(path, content)
  const { code, out } = await build()
  expect(code).not.toBe(0)
  expect(out).toContain(path)
  expect([await dist("server.js"), await dist("tui.js")]).toEqual(before)
  expect((await readdir(join(root, ".tmp"))).toSorted()).toEqual(["build.stamp"])
})
