import { expect } from "vitest"
import ts from "typescript"
import { told, type Finding } from "../findings.ts"
import type { Audited } from "../program.ts"

export type Snippet = {
  readonly name: string
  readonly code: string
  /** It draws. */
  readonly tsx?: boolean
  /** Every finding it must give, as `rule: symbol`; none for an innocent one. */
  readonly finds: readonly string[]
}

/** What every snippet may import, as a function of Kagan would be given it. */
const given = `
import type { OpencodeClient as Old } from "@opencode-ai/sdk"
import type { OpencodeClient } from "@opencode-ai/sdk/v2"
import type { PluginInput } from "@opencode-ai/plugin"
import type { TuiPluginApi, TuiPromptRef } from "@opencode-ai/plugin/tui"
import type { HostDoors } from "../src/shared/host.ts"
export declare const client: OpencodeClient
export declare const old: Old
export declare const input: PluginInput
export declare const api: TuiPluginApi
export declare const doors: HostDoors
export declare const promptRef: TuiPromptRef
export const ask = { sessionID: "ses_1", parts: [{ type: "text" as const, text: "go on" }] }
export const oldAsk = { path: { id: "ses_1" }, body: { parts: [{ type: "text" as const, text: "go on" }] } }
`

/** The snippets as files of a program. */
export function snippetFiles(snippets: readonly Snippet[]): Record<string, string> {
  const files = snippets.map((snippet) => [fileOf(snippet), snippet.code] as const)
  return { "snippets/given.ts": given, ...Object.fromEntries(files) }
}

export function fileOf({ name, tsx }: Snippet): string {
  return `snippets/${name.replaceAll(/[^a-z0-9]+/gi, "-")}.${tsx ? "tsx" : "ts"}`
}

/** The snippet compiles, so that it is what it claims to be, and gives exactly its findings. */
export function checkSnippet(
  audited: Audited,
  snippet: Snippet,
  audit: (audited: Audited, prefix: string) => Finding[],
): void {
  const [file] = audited.sources(fileOf(snippet))
  const { program } = audited
  const errors = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  expect(errors.map((error) => ts.flattenDiagnosticMessageText(error.messageText, "\n"))).toEqual([])
  expect(told(audit(audited, fileOf(snippet)))).toEqual(snippet.finds.toSorted())
}
