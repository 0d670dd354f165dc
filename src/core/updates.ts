import { compareVersions } from "./host-version.ts"
import { isObject } from "./loose.ts"

/*
 * Which entries follow the registry, and what an answer of it means. A pin that the person made is theirs; only a plain
 * or `@latest` entry is followed, and an exact version that an update of ours wrote.
 */

export type Followed = { readonly ok: true } | { readonly ok: false; readonly text: string }

/** Whether the entry is ours to move. `written`: the specs that updates wrote. */
export function followsRegistry(spec: string, name: string, written: readonly string[]): Followed {
  if (spec === name || spec === `${name}@latest` || written.includes(spec)) return { ok: true }
  if (!spec.startsWith(`${name}@`)) {
    return { ok: false, text: `Kagan is loaded from ${spec}: it is updated where that comes from` }
  }
  const rest = spec.slice(name.length + 1)
  return /^v?\d+\.\d+\.\d+/.test(rest)
    ? { ok: false, text: `Kagan is pinned to ${rest} by hand: change the pin, or take it out, to follow new versions` }
    : {
        ok: false,
        text: `Kagan is installed as ${spec}: only a plain name, @latest and what /kagan-update wrote are followed`,
      }
}

export type UpdateState =
  | { readonly kind: "same"; readonly text: string }
  | { readonly kind: "newer"; readonly version: string; readonly text: string }
  /** The newest one does not run on this OpenCode, which would then skip it in silence. */
  | { readonly kind: "incompatible"; readonly version: string; readonly text: string }
  /** Not ours to move. */
  | { readonly kind: "left"; readonly text: string }
  /** Nobody could say. */
  | { readonly kind: "unknown"; readonly text: string }

/** What the registry's answer means for the version that runs. */
export function judgeUpdate(answer: unknown, running: string, host: string): UpdateState {
  const version = isObject(answer) ? answer["version"] : undefined
  if (typeof version !== "string" || !/^\d+\.\d+\.\d+/.test(version)) {
    return { kind: "unknown", text: "the registry's answer could not be read" }
  }
  if (compareVersions(version, running) <= 0) {
    return { kind: "same", text: `Kagan ${running} is the newest version` }
  }
  const engines = isObject(answer) ? answer["engines"] : undefined
  const range = isObject(engines) ? engines["opencode"] : (answer as Record<string, unknown>)["engines.opencode"]
  if (range !== undefined && !(typeof range === "string" && isInRange(host, range))) {
    const text = `Kagan ${version} is there and needs OpenCode ${String(range)}; this one is ${host}`
    return { kind: "incompatible", version, text }
  }
  return { kind: "newer", version, text: `Kagan ${version} is there; this one is ${running}` }
}

/** Ranges of comparisons (`>=1.2.3 <2.0.0`, alternatives with `||`). What cannot be read is no promise. */
function isInRange(version: string, range: string): boolean {
  return range.split("||").some((part) => {
    const words = part
      .trim()
      .replace(/([<>=]+)\s+/g, "$1")
      .split(/\s+/)
    return words.every((word) => fits(version, word))
  })
}

function fits(version: string, word: string): boolean {
  if (word === "" || word === "*") return true
  const found = /^(>=|<=|>|<|=)?v?(\d+\.\d+\.\d+.*)$/.exec(word)
  if (!found) return false
  const order = compareVersions(version, found[2]!)
  switch (found[1]) {
    case ">=":
      return order >= 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case "<":
      return order < 0
    default:
      return order === 0
  }
}
