import { readFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { makeContainment } from "../../src/server/containment.ts"
import { makePushGuard } from "../../src/server/push-guard.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { fail } from "../../src/shared/git/failure.ts"
import { openRepository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import { openHost } from "../../src/shared/host.ts"
import { openStore } from "../../src/shared/store.ts"
import { gitEnv, makeRepo } from "../kit/repo.ts"

const SECRET = "hunter2hunter2"

test("git's own words are passed on without the password of an address", async () => {
  await using repo = await makeRepo()
  const asked = await makeGit({ env: gitEnv() }).run(["ls-remote", `nowhere://me:${SECRET}@example.test/a`], {
    cwd: repo.dir,
  })
  expect(asked.ok).toBe(false)
  expect(JSON.stringify(asked)).toContain("example.test")
  expect(JSON.stringify(asked.ok ? {} : { text: asked.error.text, stderr: asked.error.stderr })).not.toContain(SECRET)
  expect(JSON.stringify(fail("failed", `x https://a:${SECRET}@b.test`, { code: 1, command: "git" }))).not.toContain(
    SECRET,
  )
})

test("the log gets no credential, in its message or beside it", async () => {
  const sent: string[] = []
  const fetching = Object.assign(
    async (request: Request | string | URL, init?: RequestInit) => {
      sent.push(request instanceof Request ? await request.text() : String(init?.body))
      return new Response("true", { headers: { "content-type": "application/json" } })
    },
    { preconnect: () => undefined },
  )
  const client = { _client: { getConfig: () => ({ baseUrl: "http://localhost", fetch: fetching }) } }
  const { host } = openHost({ client, directory: "/nowhere" } as never, systemClock)
  host.log("warn", `push to https://me:${SECRET}@example.test failed`, { header: `Authorization: Bearer ${SECRET}` })
  await expect.poll(() => sent.join(""), { timeout: 60_000 }).toContain("example.test")
  expect(sent.join("")).not.toContain(SECRET)
})

test("nothing that is written beside a task holds a setting's value, and no log line of the guard does", async () => {
  await using repo = await makeRepo({ files: { "a.txt": "a\n", ".gitignore": ".env\n" } })
  const worktree = join(repo.dir, "../wt")
  await repo.git("worktree", "add", "-q", "-b", "t", worktree)
  await repo.git("remote", "add", "origin", `https://me:${SECRET}@example.test/a.git`)
  await repo.git("config", "remote.origin.pushurl", `https://me:${SECRET}@example.test/a.git`)
  await repo.git("config", "http.extraHeader", `Authorization: Basic ${SECRET}`)
  await repo.write(".env", `TOKEN=${SECRET}\n`)
  const opened = await openRepository(makeGit({ env: gitEnv() }), repo.dir)
  if (!opened.ok) throw new Error(opened.error.text)
  const repository = opened.value
  const store = openStore(repository.commonDir, { clock: systemClock })
  const meta = { sessionID: "ses_1", taskNumber: 1, generation: 1, worktree } as TaskMeta
  const logged: string[] = []
  const guard = makePushGuard({
    repository,
    host: { log: (_, message) => void logged.push(message) },
    enabled: () => true,
    family: { learn: async () => undefined },
    taskOf: () => "ses_1",
  })
  await guard.prepare(meta)
  const refused = await guard.refuse(
    { tool: "bash", sessionID: "ses_1", directory: worktree },
    { command: `git push https://me:${SECRET}@example.test/a.git HEAD` },
  )
  expect(refused).toContain("Kagan stopped this command")
  const containment = makeContainment({ repository, store, clock: systemClock })
  await containment.begin(meta)
  await repo.write("a.txt", "b\n")
  const changes = await containment.changes(meta)
  expect(changes).toMatchObject({ ok: true, value: [expect.stringContaining("a.txt")] })

  const folder = store.paths.session("ses_1").dir
  const files = await readdir(folder)
  expect(files).toContain("surroundings.json")
  const all = await Promise.all(files.map((name) => readFile(join(folder, name), "utf8")))
  expect([...all, ...logged, refused, JSON.stringify(changes)].join("\n")).not.toContain(SECRET)
  expect(logged.join("\n")).toContain("origin")
})
