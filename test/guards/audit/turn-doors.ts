import type { Allowed } from "./findings.ts"

const host = "src/shared/host.ts"
const gate = "src/shared/prompt-async-gate.ts"
const inject = "src/shared/inject.ts"
const entry = "src/server.ts"
const wiring = "src/server/supervision.ts"
const reader = "src/tui/client.ts"
const oneDialect = "the one place that turns the host's client into doors"

/** Every accepted step towards a turn. A new entry is a decision about the design, not a formality. */
export const turnDoors: readonly Allowed[] = [
  { rule: "sdk import", symbol: "@opencode-ai/sdk/v2", file: host, count: 1, reason: oneDialect },
  { rule: "entrance", symbol: "createOpencodeClient", file: host, count: 1, reason: oneDialect },
  { rule: "entrance", symbol: "doorsOf", file: host, count: 1, reason: "openHost builds the doors over its client" },
  { rule: "raw type", symbol: "OpencodeClient", file: host, count: 2, reason: oneDialect },
  {
    rule: "named",
    symbol: "_client",
    file: host,
    count: 1,
    reason: "only there does the v1 client keep its in-process fetch",
  },
  {
    rule: "own member",
    symbol: "_client",
    file: host,
    count: 1,
    reason: "the shape of that field, for the line above",
  },
  {
    rule: "raw type",
    symbol: "Turns",
    file: host,
    count: 2,
    reason: "declares and builds the door that the gate holds",
  },
  {
    rule: "own member",
    symbol: "promptAsync",
    file: host,
    count: 2,
    reason: "the door's own member, and what fills it",
  },
  {
    rule: "sink",
    symbol: "Session2.prompt",
    file: host,
    count: 1,
    reason: "what the door passes on, for the gate alone",
  },
  {
    rule: "sink",
    symbol: "Session2.promptAsync",
    file: host,
    count: 1,
    reason: "what the door passes on, for the gate alone",
  },
  {
    rule: "raw type",
    symbol: "OpencodeClient",
    file: reader,
    count: 1,
    reason: "makes of the screen's client a view that can only read",
  },
  {
    rule: "raw type",
    symbol: "Turns",
    file: gate,
    count: 5,
    reason: "the gate is given the door, and says so in its types",
  },
  {
    rule: "sink",
    symbol: "Turns.prompt",
    file: gate,
    count: 1,
    reason: "the one call of the door, in the whole program",
  },
  {
    rule: "sink",
    symbol: "Turns.promptAsync",
    file: gate,
    count: 1,
    reason: "the one call of the door, in the whole program",
  },
  {
    rule: "entrance",
    symbol: "storeContext",
    file: inject,
    count: 1,
    reason: "contexts are stored by the gate, for inject alone",
  },
  {
    rule: "entrance",
    symbol: "Gate.turns",
    file: inject,
    count: 1,
    reason: "tells the gate which client it speaks for",
  },
  {
    rule: "entrance",
    symbol: "promptAsyncAfterSessionIdle",
    file: inject,
    count: 1,
    reason: "the one admitter of prompts: contexts and prompt, or neither",
  },
  { rule: "entrance", symbol: "HostDoors.turns", file: wiring, count: 1, reason: "hands the door to the gate" },
  { rule: "entrance", symbol: "makeGate", file: wiring, count: 1, reason: "one gate for one client" },
  {
    rule: "entrance",
    symbol: "PluginInput.client",
    file: entry,
    count: 1,
    reason: "names the boot that it belongs to",
  },
  {
    rule: "escape",
    symbol: "OpencodeClient",
    file: entry,
    count: 2,
    reason: "the object stands for one boot: it is compared, and never called",
  },
  { rule: "entrance", symbol: "openHost", file: entry, count: 1, reason: "the only place that opens the host" },
  { rule: "escape", symbol: "PluginInput", file: entry, count: 1, reason: "openHost takes the client as it comes" },
  {
    rule: "entrance",
    symbol: "TuiPluginApi.client",
    file: "src/tui.tsx",
    count: 1,
    reason: "makes the reading view out of it, which all of the screen gets",
  },
]
