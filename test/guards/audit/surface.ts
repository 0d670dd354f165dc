const v1 = "@opencode-ai/sdk/dist/gen/sdk.gen.d.ts"
const v2 = "@opencode-ai/sdk/dist/v2/gen/sdk.gen.d.ts"
const tui = "@opencode-ai/plugin/dist/tui.d.ts"
const server = "@opencode-ai/plugin/dist/index.d.ts"
const host = "src/shared/host.ts"
const gate = "src/shared/prompt-async-gate.ts"

type Surface = {
  readonly file: string
  readonly container: string
  /** Members that start a turn, or choose what the next one does. */
  readonly sinks: string
  /** Members behind which a sink can be reached. */
  readonly gateways?: string
  /** All other members, so that a new one of a newer SDK has to be judged by a person. */
  readonly rest?: string
}

/**
 * What starts or steers a turn: both generations of the client, the TUI's plugin api, and our own door to them.
 * `abort`, `revert` and answers to the person's asks end or unblock a turn, they start none.
 */
export const surfaces: readonly Surface[] = [
  {
    file: v1,
    container: "Session",
    sinks: "prompt promptAsync command shell summarize init",
    rest: `list create status delete get update children todo fork abort unshare share diff messages message revert
      unrevert`,
  },
  {
    file: v1,
    container: "Tui",
    sinks: "appendPrompt submitPrompt executeCommand publish",
    gateways: "control",
    rest: "openHelp openSessions openThemes openModels clearPrompt showToast",
  },
  { file: v1, container: "Control", sinks: "next response" },
  {
    file: v1,
    container: "OpencodeClient",
    sinks: "",
    gateways: "session tui",
    rest: `postSessionIdPermissionsPermissionId global project pty config tool instance path vcs command provider find
      file app mcp lsp formatter auth event`,
  },
  { file: v1, container: "_HeyApiClient", sinks: "_client" },
  {
    file: v2,
    container: "Session2",
    sinks: "prompt promptAsync command shell summarize init",
    rest: `list create status delete get update children todo fork abort unshare share diff messages message
      deleteMessage revert unrevert`,
  },
  { file: v2, container: "Session", sinks: "background", rest: "list" },
  { file: v2, container: "ControlPlane", sinks: "moveSession" },
  {
    file: v2,
    container: "Session3",
    sinks: "create prompt compact wait interrupt switchAgent switchModel",
    gateways: "",
    rest: "list active get context history events message messages revert permission question",
  },
  { file: v2, container: "Revert", sinks: "stage clear commit" },
  {
    file: v2,
    container: "Tui",
    sinks: "appendPrompt submitPrompt executeCommand publish",
    gateways: "control",
    rest: "openHelp openSessions openThemes openModels clearPrompt showToast selectSession",
  },
  { file: v2, container: "Control", sinks: "next response" },
  { file: v2, container: "Sync", sinks: "start replay steal", rest: "history" },
  {
    file: v2,
    container: "Experimental",
    sinks: "",
    gateways: "session controlPlane",
    rest: "capabilities console resource projectCopy workspace",
  },
  {
    file: v2,
    container: "OpencodeClient",
    /** The `v2` routes are an engine of their own: its turns do not see the history of the sessions that we hold. */
    sinks: "v2",
    gateways: "session tui experimental sync",
    rest: `auth app global event config tool worktree find file instance path vcs command lsp formatter mcp project pty
      question permission provider part __registry`,
  },
  {
    file: v2,
    container: "V2",
    sinks: "session",
    rest: `health location agent model provider integration credential permission fs command skill event pty question
      reference projectCopy`,
  },
  { file: v2, container: "HeyApiClient", sinks: "client" },
  { file: tui, container: "TuiPromptRef", sinks: "submit", rest: "focused current set reset blur focus" },
  { file: tui, container: "TuiCommandApi", sinks: "trigger", rest: "register show" },
  { file: host, container: "Turns", sinks: "prompt promptAsync", gateways: "session" },
]

/** Names that mean a turn whatever object they are read from. */
export const unmistakable: ReadonlySet<string> = new Set([
  "promptAsync",
  "submitPrompt",
  "appendPrompt",
  "executeCommand",
  "_client",
])

/** Names that mean a turn on an object of which nothing is known. */
export const doubtful: ReadonlySet<string> = new Set(["prompt", "summarize"])

/** Where a raw client or a door comes from; each read is a use to be accounted for. */
export const entrances: readonly string[] = [
  `${server}#PluginInput.client`,
  `${tui}#TuiPluginApi.client`,
  `${host}#HostDoors.turns`,
  `${gate}#Gate.turns`,
  `${gate}#makeGate`,
  `${gate}#promptAsyncAfterSessionIdle`,
  `${gate}#promptAfterSessionIdle`,
  `${gate}#storeContext`,
  `${gate}#releasePromptAsyncReservation`,
  `${host}#openHost`,
  `${host}#doorsOf`,
  `${v1.replace("gen/sdk.gen", "client")}#createOpencodeClient`,
  `${v2.replace("gen/sdk.gen", "client")}#createOpencodeClient`,
  `${v1.replace("gen/sdk.gen", "index")}#createOpencode`,
  `${v2.replace("gen/sdk.gen", "index")}#createOpencode`,
]

const words = (text = "") => text.split(/\s+/).filter(Boolean)
const placed = (pick: (surface: Surface) => string | undefined) =>
  new Set(
    surfaces.flatMap((surface) => words(pick(surface)).map((name) => `${surface.file}#${surface.container}.${name}`)),
  )

export const turnSinks: ReadonlySet<string> = placed((surface) => surface.sinks)
export const turnGateways: ReadonlySet<string> = placed((surface) => surface.gateways)

/** Every member of the containers above. */
export const judgedPlaces: ReadonlySet<string> = new Set([
  ...turnSinks,
  ...turnGateways,
  ...placed((surface) => surface.rest),
])
