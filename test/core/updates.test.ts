import { describe, expect, test } from "vitest"
import { followsRegistry, judgeUpdate } from "../../src/core/updates.ts"

describe("which entries are followed", () => {
  const name = "opencode-kagan"
  test.each([
    ["opencode-kagan", []],
    ["opencode-kagan@latest", []],
    ["opencode-kagan@0.2.0", ["opencode-kagan@0.2.0"]],
  ])("%s is", (spec, written) => expect(followsRegistry(spec, name, written)).toEqual({ ok: true }))

  test.each([
    ["opencode-kagan@0.2.0", "pinned to 0.2.0 by hand"],
    ["opencode-kagan@next", "only a plain name"],
    ["opencode-kagan@^0.2.0", "only a plain name"],
    ["opencode-kagan@file:/x.tgz", "only a plain name"],
    ["opencode-kagan@git+ssh://x/y", "only a plain name"],
    ["/path/to/kagan", "loaded from /path/to/kagan"],
    ["file:///path/to/kagan", "loaded from file:///path/to/kagan"],
    ["github:me/kagan", "loaded from github:me/kagan"],
  ])("%s is left alone", (spec, text) => {
    expect(followsRegistry(spec, name, ["opencode-kagan@0.1.0"])).toEqual({
      ok: false,
      text: expect.stringContaining(text),
    })
  })
})

describe("what the registry's answer means", () => {
  const judge = (answer: unknown, running = "0.1.0", host = "1.18.33") => judgeUpdate(answer, running, host)

  test.each([
    ["0.1.1", "newer"],
    ["0.10.0", "newer"],
    ["0.1.0", "same"],
    ["0.0.9", "same"],
    ["0.1.0-beta.1", "same"],
  ])("latest %s is %s", (version, kind) => expect(judge({ version }).kind).toBe(kind))

  test.each([
    [">=1.17.18", "newer"],
    [">=1.17.18 <2.0.0", "newer"],
    [">= 1.17.18", "newer"],
    ["<1.0.0 || >=1.18.0", "newer"],
    ["*", "newer"],
    [">=1.18.34", "incompatible"],
    [">=1.17.18 <1.18.0", "incompatible"],
    ["^1.17.18", "incompatible"],
    ["soon", "incompatible"],
    [7, "incompatible"],
  ])("for OpenCode %s: %s", (opencode, kind) => {
    expect(judge({ version: "0.2.0", engines: { opencode } }).kind).toBe(kind)
    expect(judge({ version: "0.2.0", "engines.opencode": opencode }).kind).toBe(kind)
  })

  test.each([[null], ["0.2.0"], [{}], [{ version: 2 }], [{ version: "new" }], [[]]])("%j could not be read", (answer) =>
    expect(judge(answer)).toEqual({ kind: "unknown", text: "the registry's answer could not be read" }),
  )
})
