import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { branchName, fold, folderName, isBranchName, slug } from "../../src/core/slug.ts"

const bytes = (text: string) => new TextEncoder().encode(text).length

describe("slug", () => {
  test.each([
    ["Fix login", "fix-login"],
    ["  Fix   the -- login! ", "fix-the-login"],
    ["Don't panic", "dont-panic"],
    ["école Straße Øre İstanbul", "ecole-strasse-ore-istanbul"],
    ["ＡＢＣ ①", "abc-1"],
    ["修复登录问题", "修复登录问题"],
    ["ログイン修正", "ログイン修正"],
    ["Привет мир", "привет-мир"],
    ["العربية", "العربية"],
    ["한글 제목", "한글-제목"],
    ["नमस्ते", "नमस्ते"],
    ["🚀🚀", "task"],
    ["---", "task"],
    ["\u200b\u200b", "task"],
    ["one\ntwo", "one-two"],
    ["\u001b[31mred", "31mred"],
    ["\u202egnp.exe", "gnp-exe"],
  ])("C001 C010 %j is read as %s", (title, expected) => expect(slug(title)).toBe(expected))

  test("is cut between characters and at a word where one ends", () => {
    expect(slug("修".repeat(100))).toBe("修".repeat(16))
    expect(slug(`${"a".repeat(40)} bcd ${"e".repeat(40)}`)).toBe(`${"a".repeat(40)}-bcd`)
    expect(bytes(slug("नमस्ते".repeat(30)))).toBeLessThanOrEqual(48)
  })
})

describe("branchName", () => {
  test.each(["feat/login page", "../../etc/passwd", "a//b", "./x", "..", "~/x", "C:\\temp\\x"])(
    "C003 %j stays one part below the prefix, and one folder name",
    (title) => {
      expect(branchName("kagan", 7, title, [])).toMatch(/^kagan\/7-[^/.\\]+$/)
      expect(folderName(7, title)).toMatch(/^7-[^/.\\]+$/)
    },
  )

  test.each(["-rf", "--force", "-b main", "--upload-pack=touch /tmp/c004"])(
    "C004 %j does not look like an option",
    (title) => {
      expect(slug(title).startsWith("-")).toBe(false)
      expect(folderName(1, title)).toMatch(/^1-/)
    },
  )

  test.each([
    "bump yarn.lock",
    "foo.lock.lock",
    "x.lock/y",
    "HEAD",
    "@",
    "a..b",
    "done.",
    ".hidden",
    "x@{1}",
    "a~b^c:d",
  ])("C005 %j makes a name that git allows", (title) =>
    expect(isBranchName(branchName("kagan", 3, title, []))).toBe(true),
  )

  test("C007 a left-over branch of the same name moves the new one aside", () => {
    expect(branchName("kagan", 1, "Fix login", ["kagan/1-fix-login", "kagan/1-fix-login-2"])).toBe(
      "kagan/1-fix-login-3",
    )
    expect(folderName(1, "Fix login", ["1-FIX-login"])).toBe("1-fix-login-2")
  })

  test("C008 names that are one file on some system are one name", () => {
    expect(branchName("kagan", 1, "fix login", ["Kagan/1-Fix-Login"])).toBe("kagan/1-fix-login-2")
    expect(branchName("kagan", 1, "ё", ["kagan/1-е\u0308"])).toBe("kagan/1-ё-2")
    expect(fold("STRASSE")).toBe(fold("straße"))
    expect(slug("e\u0301cole")).toBe(slug("école"))
  })

  test("C008 neither lies below a taken name nor has one below it", () => {
    expect(branchName("kagan", 1, "x", ["kagan/1-x/sub"])).toBe("kagan/1-x-2")
    expect(branchName("kagan", 1, "x", ["Kagan"])).toBe("kagan-2/1-x")
    expect(branchName("team/kagan", 1, "x", ["team"])).toBe("team-2/kagan/1-x")
  })

  test.each([
    ["", "kagan/1-x"],
    ["  /../.lock/ ", "lock/1-x"],
    ["/./..", "kagan/1-x"],
    ["team/sub", "team/sub/1-x"],
    ["-bad name-", "bad-name/1-x"],
    ["HEAD", "HEAD/1-x"],
  ])("the prefix %j gives %s", (prefix, expected) => expect(branchName(prefix, 1, "x", [])).toBe(expected))

  test("whatever the title, the prefix and the taken names, the name is allowed, bounded and free", () => {
    const unicode = fc.string({ unit: "binary", maxLength: 80 })
    fc.assert(
      fc.property(unicode, unicode, fc.array(unicode, { maxLength: 5 }), (title, prefix, taken) => {
        const name = branchName(prefix, 12, title, taken)
        expect(isBranchName(name)).toBe(true)
        expect(bytes(name)).toBeLessThanOrEqual(200)
        expect(name).toMatch(/\/12-[^/]+$/)
        const next = branchName(prefix, 12, title, [...taken, name])
        expect(fold(next)).not.toBe(fold(name))
        expect(next.startsWith(`${name}/`) || name.startsWith(`${next}/`)).toBe(false)
      }),
      { numRuns: 500 },
    )
  })
})

test.each([
  "a b",
  "a..b",
  "/a",
  "a/",
  "a//b",
  ".a",
  "a/.b",
  "a.lock",
  "a.lock/b",
  "a.",
  "@",
  "a@{b",
  "-a",
  "HEAD",
  "",
  "a\\b",
  "a\u007f",
])("%j is no branch name", (name) => expect(isBranchName(name)).toBe(false))
