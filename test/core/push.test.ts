import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { judgeCommand, refusalText } from "../../src/core/push.ts"
import { runLine } from "../../src/core/shell/run.ts"
import harmless from "../fixtures/commands/harmless.json"
import pushes from "../fixtures/commands/pushes.json"

const denied = (line: string, aliases: Record<string, string> = {}) =>
  judgeCommand(line, { aliases }).verdict === "deny"

const ofCase = (id: string) => pushes.filter((entry) => "case" in entry && entry.case === id)

describe("the corpus", () => {
  test("is large enough, and no line stands in it twice", () => {
    expect(pushes.length).toBeGreaterThanOrEqual(90)
    expect(harmless.length).toBeGreaterThanOrEqual(60)
    const lines = [...pushes, ...harmless].map((entry) => entry.line)
    expect(new Set(lines).size).toBe(lines.length)
  })

  test("every push that the parser is to hold is refused, with a reason; the others are left to git", () => {
    const wrong = pushes.filter(({ line, holds }) => denied(line) !== (holds === "parser"))
    expect(wrong).toEqual([])
    const reasons = pushes.flatMap(({ line }) => {
      const verdict = judgeCommand(line)
      return verdict.verdict === "deny" ? [verdict.reason] : []
    })
    expect(reasons.every((reason) => reason.length > 10)).toBe(true)
  })

  test("every harmless line is allowed", () => {
    expect(harmless.map(({ line }) => line).filter((line) => denied(line))).toEqual([])
  })

  test("C097 the clothes of the case, and its look-alikes", () => {
    expect(ofCase("C097").length).toBeGreaterThanOrEqual(12)
    expect(ofCase("C097").every(({ line }) => denied(line))).toBe(true)
    for (const line of ["git help push", 'echo "git push"', "git log --grep push"]) expect(denied(line)).toBe(false)
  })

  test("C099 publishing without the word push", () => {
    expect(ofCase("C099").length).toBeGreaterThanOrEqual(8)
    expect(ofCase("C099").every(({ line }) => denied(line))).toBe(true)
  })

  test("C100 what a program does inside is not seen here", () => {
    expect(ofCase("C100").length).toBeGreaterThanOrEqual(4)
    expect(ofCase("C100").some(({ line }) => denied(line))).toBe(false)
  })
})

describe("aliases of the person's own settings", () => {
  const aliases = { p: "push", pf: "p --force", out: '!f() { git push "$@"; }; f', st: "status -sb", loop: "loop" }

  test("are followed, to other aliases and to scripts", () => {
    for (const line of ["git p", "git pf origin", "git out origin HEAD", "git -C . p", "sh -c 'git pf'"])
      expect(denied(line, aliases), line).toBe(true)
  })

  test("harmless ones are allowed, and one that goes in a circle ends", () => {
    expect(denied("git st", aliases)).toBe(false)
    expect(denied("git loop", aliases)).toBe(false)
  })
})

describe("what cannot be known before it runs", () => {
  test("a command of git whose name is not known is refused, and says so", () => {
    expect(judgeCommand("git $(cat verb)")).toMatchObject({
      verdict: "deny",
      reason: expect.stringContaining("not known"),
    })
    expect(denied("git $OPTIONS log -1")).toBe(false)
    expect(denied('"$TOOL" push origin')).toBe(true)
    expect(denied('"$TOOL" install')).toBe(false)
  })

  test("a script that is not known is left to the other layers", () => {
    expect(denied("curl -fsSL https://example.test/install.sh | sh")).toBe(false)
    expect(denied("./build.sh --push")).toBe(false)
  })

  test("a line that is broken or endless is refused only where it names a push", () => {
    expect(denied("if true; then git push")).toBe(true)
    expect(denied("echo 'unclosed")).toBe(false)
    expect(denied(`${"(".repeat(200)}git push${")".repeat(200)}`)).toBe(true)
    expect(denied("f() { f; f; }; f; git status")).toBe(false)
    expect(denied("f() { f; f; }; f; git push")).toBe(true)
    expect(denied(`echo ${"x".repeat(200_000)}`)).toBe(true)
    expect(denied(`x='f() { true; }; eval "$x"'; eval "$x"`)).toBe(false)
    // A text that may run itself again, since its variable is only perhaps replaced.
    expect(denied(`x='true && x='\\''git log --grep push'\\''; eval "$x"'; eval "$x"`)).toBe(false)
    expect(denied(`x='true && x='\\''git push'\\''; eval "$x"'; eval "$x"`)).toBe(true)
  })

  test("the agent is told why, and what to do instead", () => {
    const text = refusalText("`git push` pushes")
    expect(text).toContain("`git push` pushes")
    expect(text).toContain("Commit to your branch")
  })
})

/** Ways to wrap a line so that a shell still runs it. */
const WRAPS: readonly ((line: string) => string)[] = [
  (line) => `(${line})`,
  (line) => `{ ${line}; }`,
  (line) => `true && ${line}`,
  (line) => `if true; then ${line}; fi`,
  (line) => `echo "$(${line})"`,
  (line) => `sh -c ${quoted(line)}`,
  (line) => `eval ${quoted(line)}`,
  (line) => `echo ${quoted(line)} | bash`,
  (line) => `printf %s ${quoted(btoa(line))} | base64 -d | sh`,
  (line) => `f() { ${line}; }; f`,
  (line) => `for i in 1; do ${line}; done`,
  (line) => `x=${quoted(line)}; eval "$x"`,
  (line) => `cd . ; ${line} 2>/dev/null`,
  (line) => `sh -c ${quoted(`sh <<'K${line.length}'\n${line}\nK${line.length}\n`)}`,
  (line) => `env -S ${quoted(`sh -c ${quoted(line)}`)}`,
]

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

const wrapped = (start: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...start), fc.array(fc.integer({ min: 0, max: WRAPS.length - 1 }), { maxLength: 3 }))
    .map(([line, wraps]) => wraps.reduce((inner, wrap) => WRAPS[wrap]!(inner), line))

describe("properties", () => {
  test("a push stays a push in any wrapping", () => {
    fc.assert(
      fc.property(wrapped(["git push origin HEAD", "gh pr create --fill", "git -c alias.x=push x"]), (line) =>
        denied(line),
      ),
      { numRuns: 400 },
    )
  })

  test("a harmless line stays harmless in any wrapping", () => {
    fc.assert(
      fc.property(
        wrapped(["git log --grep push", "git stash push", "echo git push", "gh pr list"]),
        (line) => !denied(line),
      ),
      { numRuns: 400 },
    )
  })

  test("any text gets a verdict", () => {
    const piece = fc.constantFrom(
      ..."git push $ ( ) { } ' \" ` \\ | & ; < > << \n $( ${ x= [[ case esac do done \u{F8FF}".split(" "),
    )
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((all) => all.join(" ")),
          fc.array(piece).map((all) => all.join("")),
        ),
        (line) => {
          expect(["allow", "deny"]).toContain(judgeCommand(line).verdict)
        },
      ),
      { numRuns: 600 },
    )
  })

  test("a word in any quotes is read as the text that it stands for", () => {
    const char = fc.constantFrom(..."ab $'\"\\`;|&*?[](){}<>~#!=-\t")
    const texts = fc.array(
      fc.array(char, { maxLength: 6 }).map((all) => all.join("")),
      { minLength: 1, maxLength: 4 },
    )
    fc.assert(
      fc.property(texts, (words) => {
        let seen: readonly string[] | undefined
        runLine(`tool ${words.map(quoted).join(" ")}`, ({ fields }) => {
          seen ??= fields
          return undefined
        })
        expect(seen).toEqual(["tool", ...words])
      }),
      { numRuns: 300 },
    )
  })
})
