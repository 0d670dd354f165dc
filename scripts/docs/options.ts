import { OPTION_ROWS, optionSchema, SCREEN_OPTIONS, type OptionRow } from "../../src/core/options.ts"

/** `assets/kagan.schema.json`: what an editor can check Kagan's options against. */
export function schemaFile(): string {
  const { $schema, ...rest } = optionSchema()
  const head = { $schema, title: "Options of the Kagan plugin for OpenCode" }
  return `${JSON.stringify({ ...head, ...rest }, null, 2)}\n`
}

/** `docs/options.md`: every option with meaning, values and default. */
export function optionsPage(): string {
  return [
    "# Options",
    "",
    "Made by `bun scripts/docs.ts` from the one table in `src/core/options.ts`; do not edit.",
    "",
    "Options stand in Kagan's entry in `opencode.json`, as the second of a pair:",
    "",
    "```json",
    "{",
    '  "$schema": "https://opencode.ai/config.json",',
    '  "plugin": [["/path/to/kagan", { "inProgressLimit": 3, "merge": { "strategy": "merge" } }]]',
    "}",
    "```",
    "",
    "On the board, `,` (or `/kagan-settings` anywhere) shows them with the values in force and where those come from, and writes them into the file of your choice without touching anything else in it. An option in the project's file counts and the global file's entry is then not read at all: OpenCode takes one entry of a plugin, never two.",
    "",
    "What is unknown or unusable is named on the board and in the settings, its default is used, and everything else stays in force. `assets/kagan.schema.json` describes the same options for editors.",
    "",
    "| Option | Values | Default | Meaning | A change counts |",
    "| --- | --- | --- | --- | --- |",
    ...OPTION_ROWS.map(
      (row) =>
        `| \`${row.path}\` | ${row.range.replaceAll("|", "\\|")} | ${fallback(row)} | ${row.meaning.replaceAll("|", "\\|")} | ${row.effect} |`,
    ),
    "",
    "A change made in the settings counts as said in the last column; one made in the file by hand counts after a restart of OpenCode.",
    "",
    "## In `tui.json`",
    "",
    `Kagan's entry in \`tui.json\` takes ${SCREEN_OPTIONS.map((name) => `\`${name}\``).join(" and ")} as well, for this screen alone, where they win; and \`keybinds\` ([keys](keys.md)).`,
    "",
  ].join("\n")
}

const fallback = (row: OptionRow) => (row.default === undefined ? "absent" : `\`${JSON.stringify(row.default)}\``)
