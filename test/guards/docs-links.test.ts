import { readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, normalize } from "node:path"
import ts from "typescript"
import { describe, expect, test } from "vitest"
import { parseJsonc } from "../../src/core/jsonc.ts"
import { readOptions } from "../../src/core/options.ts"
import { checkout } from "../kit/sandbox.ts"

const pages = [
  ...readdirSync(checkout).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(checkout, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
]
const textOf = (page: string) => readFileSync(join(checkout, page), "utf8")
/** Without what stands in code, where brackets mean something else. */
const proseOf = (page: string) =>
  textOf(page)
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/`[^`\n]*`/g, "")

/** How a heading is named in an address. */
const anchorOf = (heading: string) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-")
const anchorsOf = (page: string) => [...textOf(page).matchAll(/^#{1,6} +(.+)$/gm)].map((match) => anchorOf(match[1]!))

/** Links and pictures, as Markdown has them and as tags have them. */
const LINK = /\[[^\]]*\]\(([^)\s]+)\)|\b(?:src|srcset|href)="([^"\s]+)"/g

function brokenLinks(page: string, prose = proseOf(page)): string[] {
  return [...prose.matchAll(LINK)].flatMap(([, inText, inTag]) => {
    const target = inText ?? inTag
    if (/^https?:\/\//.test(target!)) return []
    const [path = "", anchor] = target!.split("#")
    const file = path === "" ? page : normalize(join(dirname(page), path))
    const there = statSync(join(checkout, file), { throwIfNoEntry: false })
    if (!there) return [`${page}: ${target}: no such file`]
    if (anchor === undefined || anchorsOf(file).includes(anchor)) return []
    return [`${page}: ${target}: no such heading`]
  })
}

type Sample = { readonly page: string; readonly kind: string; readonly text: string }
const samples = pages.flatMap((page): Sample[] =>
  [...textOf(page).matchAll(/^```(\w+)\n([\s\S]*?)^```/gm)].map(([, kind, text]) => ({
    page,
    kind: kind!,
    text: text!,
  })),
)

describe("links", () => {
  test("lead to files and headings that are there", () => {
    expect(pages.flatMap((page) => brokenLinks(page))).toEqual([])
  })

  test("a broken one is found", () => {
    expect(brokenLinks("README.md", "[a](docs/nowhere.md) [b](docs/keys.md#no-such) [c](#nothing)")).toHaveLength(3)
    expect(brokenLinks("README.md", '<source srcset="assets/no.svg"><img src="assets/nor.svg">')).toHaveLength(2)
  })

  test("every picture is shown, in the dark and in the light", () => {
    const shown = pages.flatMap((page) =>
      [...proseOf(page).matchAll(LINK)].map(([, inText, inTag]) => normalize(join(dirname(page), (inText ?? inTag)!))),
    )
    const pictures = readdirSync(join(checkout, "assets")).filter((name) => name.endsWith(".svg"))
    expect(pictures.filter((name) => !shown.includes(`assets/${name}`))).toEqual([])
    expect(pictures.filter((name) => !/-(dark|light)\.svg$/.test(name))).toEqual([])
    const size = pictures.reduce((sum, name) => sum + statSync(join(checkout, "assets", name)).size, 0)
    expect(size).toBeLessThan(400 * 1024)
  })

  test("every page can be reached from the README", () => {
    const reached = new Set<string>(["README.md"])
    for (const page of reached) {
      for (const [, target] of proseOf(page).matchAll(/\]\(([^)#\s]+\.md)/g)) {
        if (!/^https?:/.test(target!)) reached.add(normalize(join(dirname(page), target!)))
      }
    }
    const apart = new Set([
      "AGENTS.md",
      "docs/crash-matrix.md",
      "docs/decisions/injection.md",
      "docs/decisions/prompt-gate.md",
    ])
    expect(pages.filter((page) => !reached.has(page) && !apart.has(page))).toEqual([])
  })
})

describe("code samples", () => {
  test("are of kinds that are checked here, or are run elsewhere", () => {
    expect(
      [...new Set(samples.map(({ kind }) => kind))].filter((kind) => !["json", "js", "ts", "sh"].includes(kind)),
    ).toEqual([])
  })

  test.each(samples.filter(({ kind }) => kind === "json"))(
    "JSON in $page can be read, and its options are good",
    ({ text }) => {
      const read = parseJsonc(text)
      expect(read).toMatchObject({ ok: true })
      const plugin = read.ok ? ((read.value as { plugin?: unknown[] }).plugin ?? []) : []
      for (const entry of plugin) {
        const options = Array.isArray(entry) ? (entry[1] as Record<string, unknown>) : {}
        const { keybinds: _, ...rest } = options
        expect(readOptions(rest).problems).toEqual([])
      }
    },
  )

  test.each(samples.filter(({ kind }) => kind === "js" || kind === "ts"))(
    "$kind in $page is well formed",
    ({ text }) => {
      const made = ts.transpileModule(text, {
        reportDiagnostics: true,
        compilerOptions: { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext },
      })
      expect((made.diagnostics ?? []).map(({ messageText }) => messageText)).toEqual([])
    },
  )

  test("commands of npm in the pages are scripts that there are", () => {
    const { scripts } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as {
      scripts: Record<string, string>
    }
    const named = pages.flatMap((page) => [...textOf(page).matchAll(/npm run ([\w:]+)/g)].map((match) => match[1]!))
    expect([...new Set(named)].filter((name) => !Object.hasOwn(scripts, name))).toEqual([])
  })
})
