import { expect, test } from "vitest"
import { ok } from "../../src/core/result.ts"
import { fakeHost } from "./fake-host.ts"

test("answers what was announced, in order, and records the calls", async () => {
  const fake = fakeHost()
    .once("children", async () => ok([]))
    .on("rename", async () => ok())
  expect(await fake.host.children("ses_1")).toEqual({ ok: true, value: [] })
  await fake.host.rename("ses_1", "A")
  await fake.host.rename("ses_1", "B")
  fake.host.log("info", "always allowed")
  expect(fake.calls.map(({ name }) => name)).toEqual(["children", "rename", "rename"])
  expect(fake.of("rename")).toEqual([
    ["ses_1", "A"],
    ["ses_1", "B"],
  ])
  expect(fake.logs).toEqual([{ level: "info", message: "always allowed" }])
})

test.fails("a call that nobody expected fails the test, even when its exception is caught", async () => {
  const fake = fakeHost()
  await Promise.resolve()
    .then(() => fake.host.abort("ses_1", "/repo"))
    .catch((error: Error) => expect(error.message).toBe('unexpected call abort("ses_1", "/repo")'))
})

test.fails("an expected call that never comes fails the test", () => {
  fakeHost().once("promptAsync", async () => undefined)
})

test.fails("a second call is not covered by one expectation", async () => {
  const fake = fakeHost().once("statuses", async () => ok({}))
  await fake.host.statuses("/repo")
  await Promise.resolve()
    .then(() => fake.host.statuses("/repo"))
    .catch((error: Error) => expect(error.message).toContain("unexpected"))
})
