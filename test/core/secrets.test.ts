import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { cleaned, withoutCredentials } from "../../src/core/secrets.ts"

const SECRETS = [
  "https://user:hunter2hunter2@example.test/a.git",
  "https://hunter2hunter2@example.test/a.git",
  "http.extraheader=Authorization: Basic hunter2hunter2",
  "Authorization: Bearer hunter2hunter2",
  "API_KEY=hunter2hunter2",
  '{"password": "hunter2hunter2"}',
  "client-secret: hunter2hunter2",
  "https://example.test/x?token=hunter2hunter2&a=1",
  "ghp_hunter2hunter2hunter2",
  "github_pat_hunter2hunter2hunter2",
  "sk-hunter2hunter2hunter2",
  "-----BEGIN RSA PRIVATE KEY-----\nhunter2hunter2\n-----END RSA PRIVATE KEY-----",
]

const HARMLESS = [
  "fatal: 'origin' does not appear to be a git repository",
  "git@example.test:a/b.git",
  "https://example.test/a@b/c.git",
  "#12 Add a password field",
  "3 tokens used; the key was pressed",
  "src/secrets.ts:10: no such file",
  "merged into main as 1a2b3c4",
]

describe("what looks like a credential", () => {
  test.each(SECRETS)("is cut: %s", (text) => {
    expect(withoutCredentials(`before ${text} after`)).not.toContain("hunter2")
    expect(withoutCredentials(`before ${text} after`)).toMatch(/^before /)
  })

  test.each(HARMLESS)("and this is kept: %s", (text) => expect(withoutCredentials(text)).toBe(text))

  test("is cut inside of values, at any depth", () => {
    const value = cleaned({ a: [{ url: SECRETS[0], n: 1 }], b: null })
    expect(JSON.stringify(value)).not.toContain("hunter2")
    expect(value).toMatchObject({ a: [{ n: 1 }], b: null })
  })

  test("once is enough, in any text", () => {
    const piece = fc.oneof(fc.string(), fc.constantFrom(...SECRETS, ...HARMLESS))
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const once = withoutCredentials(pieces.join(" "))
        expect(withoutCredentials(once)).toBe(once)
        expect(once).not.toContain("hunter2hunter2")
      }),
      { numRuns: 300 },
    )
  })
})
