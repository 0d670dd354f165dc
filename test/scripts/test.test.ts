import { execFile } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { checkout } from "../kit/sandbox.ts"

let small: string

/** A small checkout: this one's runner and dependencies, with tests of its own. */
beforeAll(() => {
  small = realpathSync(mkdtempSync(join(tmpdir(), "kagan-runner-")))
  for (const path of [
    "scripts",
    "vitest.config.ts",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "test/kit/setup.ts",
    "test/kit/failures.ts",
  ]) {
    cpSync(join(checkout, path), join(small, path), { recursive: true })
  }
  // A folder of its own, in which vite keeps temporary files, with the packages of this one.
  mkdirSync(join(small, "node_modules"))
  for (const name of readdirSync(join(checkout, "node_modules"))) {
    if (name.startsWith(".vite")) continue
    symlinkSync(join(checkout, "node_modules", name), join(small, "node_modules", name))
  }
  write("src/server.ts", "export default {}\n")
  write("src/cli.ts", "#!/usr/bin/env node\n")
  write("src/tui.tsx", "export default {}\n")
  write("test/core/good.test.ts", 'import { test } from "vitest"\ntest("one", () => {})\ntest("two", () => {})\n')
  write(
    "test/core/bad.test.ts",
    `import { expect, test } from "vitest"
test("wrong", () => expect(1).toBe(2))
test("not here", ({ skip }) => skip("it has no ripgrep"))
`,
  )
  write("test/core/broken.test.ts", 'import "./nowhere.ts"\n')
  write("test/core/slow.long.test.ts", 'import { test } from "vitest"\ntest("only in long", () => {})\n')
})
afterAll(() => rmSync(small, { recursive: true, force: true }))

function write(path: string, content: string): void {
  mkdirSync(dirname(join(small, path)), { recursive: true })
  writeFileSync(join(small, path), content)
}

function run(...args: string[]): Promise<{ code: number; lines: string[] }> {
  return new Promise((resolve) => {
    execFile(
      "node",
      ["scripts/test.mjs", ...args],
      { cwd: small, env: { ...process.env, CI: "true" } },
      (error, out) => {
        resolve({ code: error ? Number(error.code) : 0, lines: out.trimEnd().split("\n") })
      },
    )
  })
}

test("what passes is counted in the last line, each stage has its seconds, and the exit code is 0", async () => {
  const { code, lines } = await run("unit", "test/core/good")
  expect(lines.at(-1)).toBe("2 passed, 0 failed")
  expect(lines.join("\n")).toMatch(/^unit +\d+\.\d s +2 passed, 0 failed$/m)
  expect(code).toBe(0)
})

test("failed tests, and files that cannot be loaded, are counted; a skipped test has its reason", async () => {
  const { code, lines } = await run("unit")
  expect(lines.at(-1)).toBe("2 passed, 2 failed")
  // Near the end, with the reason: what is kept of a run elsewhere may be its tail alone.
  expect(lines.slice(-10).find((line) => line.startsWith("failed: "))).toMatch(
    /bad\.test\.ts: wrong: expected 1 to be 2/,
  )
  expect(lines).toContain("skipped: test/core/bad.test.ts: not here (it has no ripgrep)")
  expect(lines.find((line) => line.startsWith("broken: "))).toContain("test/core/broken.test.ts: Cannot find module")
  expect(code).toBe(1)
})

test("long tests run in their own stage only, which builds first", async () => {
  expect((await run("long")).lines.at(-1)).toBe("2 passed, 0 failed")
})

test("an unknown stage is an error", async () => {
  expect((await run("everything")).code).toBe(2)
})
