import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"

const dir = mkdtempSync(join(tmpdir(), "kagan-process-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const source = (path: string) => JSON.stringify(join(import.meta.dirname, "../..", path))

/** A gate over a host that says yes to everything, in a process of its own, on the system's clock. */
async function inProcess(code: string): Promise<{ code: number; out: string }> {
  const script = `
    import { systemClock as clock } from ${source("src/shared/clock.ts")}
    import { openStore } from ${source("src/shared/store.ts")}
    import { makeSessionState } from ${source("src/shared/session-state.ts")}
    const ok = (value) => ({ ok: true, value })
    const host = {
      session: async (id) => ok({ id, directory: "/x", agent: "build", model: { id: "m", providerID: "p" }, time: {} }),
      statuses: async () => ok({}), messages: async () => ok([]), message: async () => ok(undefined),
    }
    const { leases } = openStore(${JSON.stringify(dir)}, { clock })
    const parts = (turns) => ({ turns, host, clock, leases, log() {}, state: makeSessionState({ host, clock, leases }) })
    const args = (client) => ({ client, sessionID: "ses_1", source: "test:one", settleMs: 20, input: { sessionID: "ses_1", parts: [] } })
    ${code}`
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" })
  const out = await new Response(child.stdout).text()
  return { code: await child.exited, out: out.trim() }
}

it("G45 two copies of the module guard one session together", async () => {
  const { out } = await inProcess(`
    const one = await import(${source("src/shared/prompt-async-gate.ts")})
    const two = await import(${source("src/shared/prompt-async-gate.ts")} + "?copy=2")
    let sends = 0
    const turns = () => ({ session: { prompt: async () => ({}), promptAsync: async () => (sends++, {}) } })
    const [a, b] = [turns(), turns()]
    one.makeGate(parts(a)); two.makeGate(parts(b))
    const results = await Promise.all([one.promptAsyncAfterSessionIdle(args(a)), two.promptAsyncAfterSessionIdle(args(b))])
    console.log(one === two, sends, results.map((result) => result.status).join())
  `)
  expect(out).toBe("false 1 dispatched,reserved")
})

it("G46 a send that hangs keeps no process alive", async () => {
  const { code, out } = await inProcess(`
    const gate = await import(${source("src/shared/prompt-async-gate.ts")})
    const turns = { session: { prompt: () => new Promise(() => {}), promptAsync: () => (console.log("sent"), new Promise(() => {})) } }
    gate.makeGate(parts(turns))
    void gate.promptAsyncAfterSessionIdle(args(turns))
    // The settle's timer keeps nothing alive either; this one lets it pass.
    await Bun.sleep(200)
  `)
  expect([code, out]).toEqual([0, "sent"])
})

it("G51 two processes with one folder of leases: one send", async () => {
  const wake = `
    const gate = await import(${source("src/shared/prompt-async-gate.ts")})
    const turns = { session: { prompt: async () => ({}), promptAsync: async () => (console.log("sent"), {}) } }
    gate.makeGate(parts(turns))
    console.log((await gate.promptAsyncAfterSessionIdle(args(turns))).status)
    const tries = ${JSON.stringify(join(dir, "tries"))}
    const store = openStore(${JSON.stringify(dir)}, { clock })
    store.append(tries, 1)
    while ((await store.readLines(tries)).value.lines.length < 2) await Bun.sleep(5)
  `
  const both = await Promise.all([inProcess(wake), inProcess(wake)])
  expect(both.map((one) => one.out).toSorted()).toEqual(["active", "sent\ndispatched"])
})
