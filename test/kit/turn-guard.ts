import type { Turns } from "../../src/shared/host.ts"
import { surfaces } from "../guards/audit/surface.ts"

export interface TurnGuard<Client extends object> {
  /** The client as the code under test may have it: reading a member that starts or steers a turn throws. */
  readonly client: Client
  /** The door for the gate, and for it alone: what is called through it may reach the raw members. Given out once. */
  forGate(turns: Turns): Turns
  /** The stacks of all refused reads, also of those whose exception was caught. */
  readonly refused: readonly string[]
}

/** Which container of the audited surface stands at which path of a client, in both generations. */
const containers: Readonly<Record<string, readonly string[]>> = {
  "": ["OpencodeClient", "HeyApiClient", "_HeyApiClient"],
  session: ["Session", "Session2"],
  tui: ["Tui"],
  "tui.control": ["Control"],
  sync: ["Sync"],
  experimental: ["Experimental"],
  "experimental.session": ["Session"],
  "experimental.controlPlane": ["ControlPlane"],
}

const innerClients = ["client", "_client"]

/**
 * The runtime half of the audit: wraps a client of the SDK for tests. It sees what types cannot, such as a member read
 * under a name that was put together, through a cast, or by the code of a package.
 */
export function guardTurns<Client extends object>(client: Client): TurnGuard<Client> {
  const refused: string[] = []
  let open = 0
  let given = false

  function wrap<T extends object>(target: T, path: string): T {
    const sinks = sinksAt(path)
    const read = (key: string | symbol): unknown => {
      const name = String(key)
      if (sinks.has(name) && open === 0) {
        const error = new Error(
          `${path ? `${path}.` : ""}${name} starts or steers a turn, and only the gate may read it`,
        )
        refused.push(error.stack ?? error.message)
        throw error
      }
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value === "function") return name === "constructor" ? value : value.bind(target)
      const inner = path ? `${path}.${name}` : name
      return typeof value === "object" && value !== null && inner in containers ? wrap(value, inner) : value
    }
    return new Proxy(target, {
      get: (_, key) => read(key),
      getOwnPropertyDescriptor(_, key) {
        const descriptor = Reflect.getOwnPropertyDescriptor(target, key)
        // What holds the requests or the members of the next level is not given out by its descriptor either.
        return descriptor && "value" in descriptor
          ? { ...descriptor, configurable: true, value: read(key) }
          : descriptor
      },
    })
  }

  const through =
    <I, O>(call: (input: I) => O) =>
    (input: I): O => {
      open++
      try {
        return call(input)
      } finally {
        open--
      }
    }

  return {
    client: wrap(client, ""),
    refused,
    forGate(turns) {
      if (given) throw new Error("the gate has its door already")
      given = true
      return {
        session: {
          prompt: through((input) => turns.session.prompt(input)),
          promptAsync: through((input) => turns.session.promptAsync(input)),
        },
      }
    },
  }
}

function sinksAt(path: string): Set<string> {
  const here = surfaces.filter(({ container, file }) => file.includes("/sdk/") && containers[path]!.includes(container))
  return new Set([...here.flatMap((surface) => surface.sinks.split(" ").filter(Boolean)), ...innerClients])
}
