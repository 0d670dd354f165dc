import { execFile, spawn } from "node:child_process"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { blockPushes } from "../../src/shared/git/push-block.ts"
import { openRepository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import { gitEnv, makeRepo, type Repo } from "../kit/repo.ts"

/*
 * A program with a git library of its own (isomorphic-git), which runs no git and reads git's settings only in part,
 * against a real repository served over HTTP: what holds it, and what does not (docs/security.md says the same).
 */

let repo: Repo
let worktree: string
let remote: string
let server: Server
let address: string
/** Whether the remote wants a name and a password before it takes anything, as forges do. */
let guarded = false

beforeAll(async () => {
  repo = await makeRepo()
  remote = join(repo.dir, "../origin.git")
  worktree = join(repo.dir, "../wt")
  await repo.git("init", "-q", "--bare", "-b", "main", remote)
  await repo.git("-C", remote, "config", "http.receivepack", "true")
  server = createServer((request, response) => {
    if (guarded && request.headers.authorization === undefined) {
      response.writeHead(401, { "www-authenticate": "Basic" }).end()
      return
    }
    const { pathname, search } = new URL(request.url!, "http://localhost")
    const child = spawn("git", ["http-backend"], {
      env: {
        ...gitEnv(),
        GIT_PROJECT_ROOT: join(repo.dir, ".."),
        GIT_HTTP_EXPORT_ALL: "1",
        REQUEST_METHOD: request.method,
        PATH_INFO: pathname,
        QUERY_STRING: search.slice(1),
        CONTENT_TYPE: request.headers["content-type"] ?? "",
        REMOTE_USER: "someone",
        REMOTE_ADDR: "127.0.0.1",
      },
    })
    request.pipe(child.stdin)
    const chunks: Buffer[] = []
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk))
    child.on("close", () => {
      const all = Buffer.concat(chunks)
      const end = all.indexOf("\r\n\r\n")
      for (const line of all.subarray(0, end).toString().split("\r\n")) {
        const [name, value] = line.split(": ") as [string, string]
        if (name === "Status") response.statusCode = Number(value.split(" ")[0])
        else response.setHeader(name, value)
      }
      response.end(all.subarray(end + 4))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/origin.git`
  await repo.git("remote", "add", "origin", address)
  await repo.git("worktree", "add", "-q", "-b", "task", worktree)
  const opened = await openRepository(makeGit({ env: gitEnv() }), repo.dir)
  if (!opened.ok) throw new Error(opened.error.text)
  const blocked = await blockPushes(opened.value, worktree)
  expect(blocked).toMatchObject({ ok: true })
})
afterAll(async () => {
  server?.close()
  await repo?.dispose()
})

const library = JSON.stringify(fileURLToPath(import.meta.resolve("isomorphic-git")))
const overHTTP = JSON.stringify(fileURLToPath(import.meta.resolve("isomorphic-git/http/node")))
const refs = () => repo.git("-C", remote, "for-each-ref", "--format=%(refname)")

/** Runs the library in a process of its own, as an agent's command would; answers what it said. */
function push(options: object): Promise<string> {
  const script = `
const fs = require("fs"), git = require(${library}), http = require(${overHTTP})
git.push({ fs, http: http.default ?? http, ...${JSON.stringify(options)} })
  .then(({ ok }) => console.log(ok ? "pushed" : "refused"), (error) => console.log("failed: " + error.message))`
  return new Promise((resolve) => {
    execFile("node", ["-e", script], { cwd: worktree, env: gitEnv(), timeout: 60_000 }, (_, out, errors) =>
      resolve(out + errors),
    )
  })
}

describe("C100 a push by isomorphic-git", () => {
  test("from the worktree as it stands finds neither remote nor branch: nothing arrives", async () => {
    expect(await push({ dir: worktree, remote: "origin", ref: "task" })).toContain("failed")
    expect(await push({ dir: worktree, url: address, ref: "task" })).toContain("failed")
    expect(await refs()).toBe("")
  })

  test("pointed at the person's own git folder it is kept out only by a remote that wants to know who it is", async () => {
    const around = { dir: worktree, gitdir: join(repo.dir, ".git"), remote: "origin", ref: "task" }
    guarded = true
    expect(await push(around)).toContain("401")
    expect(await refs()).toBe("")
    // The known limit: a remote that takes pushes from anybody.
    guarded = false
    expect(await push(around)).toContain("pushed")
    expect(await refs()).toBe("refs/heads/task\n")
    await repo.git("-C", remote, "update-ref", "-d", "refs/heads/task")
  })

  test("git itself, in the same worktree, is blocked, and fetching goes on", async () => {
    await expect(repo.git("-C", worktree, "push", "-q", "origin", "HEAD:refs/heads/git")).rejects.toThrow(
      "kagan-blocked",
    )
    await repo.git("-C", worktree, "fetch", "-q", "origin")
    expect(await refs()).toBe("")
  })
})
