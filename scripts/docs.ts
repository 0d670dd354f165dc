// Writes the generated pages of docs/: `bun scripts/docs.ts`, or `--check`, which only says which of them are stale.
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { lifecyclePage } from "./docs/lifecycle.ts"
import { optionsPage, schemaFile } from "./docs/options.ts"
import { DIALOG_COMMANDS, FORM_COMMANDS } from "../src/tui/board/dialog-keys.ts"
import { COMMANDS, ENTRIES, GROUPS, REVIEW_COMMANDS, spellKey, type CommandRow } from "../src/tui/board/keys.ts"

const ROOT = fileURLToPath(new URL("..", import.meta.url))

export type Page = { readonly file: string; readonly text: () => string }

/** Every page that is made from the code; `test/guards/docs.test.ts` keeps them fresh. */
export const PAGES: readonly Page[] = [
  { file: "docs/keys.md", text: keysPage },
  { file: "docs/lifecycle.md", text: lifecyclePage },
  { file: "docs/options.md", text: optionsPage },
  { file: "assets/kagan.schema.json", text: schemaFile },
]

/** The pages whose file is not what the code says. */
export function stalePages(pages: readonly Page[] = PAGES): string[] {
  return pages.filter(({ file, text }) => read(file) !== text()).map(({ file }) => file)
}

function keysPage(): string {
  return [
    "# Keys",
    "",
    "Made by `bun scripts/docs.ts` from the one table in `src/tui/board/keys.ts` and `dialog-keys.ts`; do not edit.",
    "",
    "Every key can be rebound under the name in the last column, in the options of Kagan's entry in `tui.json`:",
    "",
    "```json",
    '{ "plugin": [["opencode-kagan", { "keybinds": { "kagan.forward": "f,ctrl+f", "kagan.lower": "none" } }]] }',
    "```",
    "",
    "(The host's own `keybinds` drops names that it does not know.)",
    "",
    "## From anywhere",
    "",
    "| Key | Command | What it does | Name |",
    "| --- | --- | --- | --- |",
    ...ENTRIES.map(({ keys, slash, title, id }) => `| ${cells(keys)} | \`/${slash}\` | ${title} | \`${id}\` |`),
    "",
    "## On the board",
    "",
    ...groups(COMMANDS),
    "## In the review",
    "",
    ...groups(REVIEW_COMMANDS),
    "## In the form of a task",
    "",
    ...groups(FORM_COMMANDS),
    "## In dialogs and the tour",
    "",
    ...groups(DIALOG_COMMANDS),
  ].join("\n")
}

function groups(rows: readonly CommandRow[]): string[] {
  return GROUPS.flatMap((group) => {
    const own = rows.filter((row) => row.group === group)
    if (own.length === 0) return []
    return [
      `### ${group}`,
      "",
      "| Key | What it does | Name |",
      "| --- | --- | --- |",
      ...own.map(({ keys, title, id }) => `| ${cells(keys)} | ${title} | \`${id}\` |`),
      "",
    ]
  })
}

const cells = (keys: readonly string[]) => keys.map((key) => `\`${spellKey(key)}\``).join(" ") || "in the menu"

function read(file: string): string | undefined {
  try {
    return readFileSync(join(ROOT, file), "utf8")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

if (import.meta.main) {
  const stale = stalePages()
  if (process.argv.includes("--check")) {
    if (stale.length > 0) console.error(`stale: ${stale.join(", ")}`)
    process.exitCode = stale.length > 0 ? 1 : 0
  } else {
    for (const { file, text } of PAGES) writeFileSync(join(ROOT, file), text())
    console.log(stale.length > 0 ? `written: ${stale.join(", ")}` : "all pages are fresh")
  }
}
