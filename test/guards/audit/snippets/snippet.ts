export type Snippet = {
  readonly name: string
  readonly code: string
  /** Every finding it must give, as `rule: symbol`; none for an innocent one. */
  readonly finds: readonly string[]
}

/** What every snippet may import, as a function of Kagan would be given it. */
export const given = `
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
