import type { HelperRole } from "../core/task.ts"
import type { PermissionRuleset } from "../shared/host.ts"
import { FINDINGS_TOOL, INTAKE_TOOL } from "./config.ts"

/** The one tool through which a helper of this role reports. */
export function helperTool(role: HelperRole): string {
  return role === "intake" ? INTAKE_TOOL : FINDINGS_TOOL
}

/**
 * The rules of a helper's session. The last match wins and the session is judged after config and agents, so a helper
 * reads and searches what is in its directory, except secrets, and has its one tool. No bash: git commands that only
 * look can be made to write. `denied` are the person's own rules for reading, which stay in force behind ours.
 */
export function helperRules(role: HelperRole, denied: PermissionRuleset = []): PermissionRuleset {
  return [
    { permission: "*", pattern: "*", action: "deny" },
    { permission: "read", pattern: "*", action: "allow" },
    { permission: "read", pattern: "*.env", action: "deny" },
    { permission: "read", pattern: "*.env.*", action: "deny" },
    { permission: "grep", pattern: "*", action: "allow" },
    { permission: "glob", pattern: "*", action: "allow" },
    ...denied,
    { permission: helperTool(role), pattern: "*", action: "allow" },
  ]
}

/** The paths that a config's `permission` keeps from being read, to be kept from helpers as well. */
export function deniedReads(permission: unknown): PermissionRuleset {
  if (typeof permission !== "object" || permission === null) return []
  const read = (permission as Record<string, unknown>)["read"]
  if (typeof read !== "object" || read === null) return []
  return Object.entries(read)
    .filter(([pattern, action]) => pattern !== "*" && action === "deny")
    .map(([pattern]) => ({ permission: "read", pattern, action: "deny" as const }))
}

/**
 * The polite layer of a task's session: no push, and a question before the agent changes how the host is set up or
 * writes into the main checkout. A remembered "always" overrides these rules; what must hold is kept elsewhere.
 */
export function taskRules(input: { readonly root: string; readonly pushGuard: boolean }): PermissionRuleset {
  return [
    ...(input.pushGuard
      ? (["git push*", "* git push*", "git * push*"] as const).map(
          (pattern) => ({ permission: "bash", pattern, action: "deny" }) as const,
        )
      : []),
    ...(["opencode.json*", "*/opencode.json*", ".opencode/*", "*/.opencode/*"] as const).map(
      (pattern) => ({ permission: "edit", pattern, action: "ask" }) as const,
    ),
    { permission: "external_directory", pattern: `${input.root}/*`, action: "ask" },
  ]
}

/** Names of files with secrets, against which the glob of a search is tried. */
const SECRET_FILES = [".env", ".env.local", "app.env", "app/.env", "app/.env.production"]

/**
 * Why a search of a helper's is refused. The permission of grep is asked for the searched words only, and a file or a
 * glob that is named reaches ignored files as well, so that `.env` files would be read that way.
 */
export function refusedSearch(tool: string, args: unknown): string | undefined {
  if (tool !== "grep" || typeof args !== "object" || args === null) return undefined
  const { path, include } = args as { path?: unknown; include?: unknown }
  const file = typeof path === "string" && isSecretFile(path.trim())
  return file || (typeof include === "string" && reachesSecrets(include))
    ? "Files with secrets (.env) are not searched: name another file or pattern."
    : undefined
}

/** Whether the glob could match a file with secrets; too much rather than too little. */
function reachesSecrets(glob: string): boolean {
  const anything = "[\\s\\S]*"
  const source = glob
    .trim()
    .toLowerCase()
    // A class or a set of alternatives may stand for anything that it holds, and is taken for anything at all …
    .replace(/\[[^\]]*\]/g, "*")
    .split(/([*?]+)/)
    .map((part) => (/^[*?]/.test(part) ? anything : part.replace(/[.+^${}()|[\]\\]/g, "\\$&")))
    .join("")
    // … except that alternatives without wildcards are tried one by one.
    .replace(/\\\{([^{}]*)\\\}/g, (_, inner: string) => `(?:${inner.replaceAll(",", "|")})`)
  const pattern = new RegExp(`^(?:${anything}/)?${source.replace(/^\//, "")}$`)
  return SECRET_FILES.some((name) => pattern.test(name))
}

/** The rules of helpers say the same: `*.env` and `*.env.*`. */
function isSecretFile(path: string): boolean {
  return /(^|[/\\])[^/\\]*\.env(\.[^/\\]*)?$/i.test(path)
}

/**
 * What a search found, without the lines of files with secrets: those that are tracked are searched with the others.
 * Reads the shape in which the host writes matches (1.17.18 to 1.18.33): a path and a colon, then indented lines.
 */
export function withoutSecrets(found: string): string {
  const kept: string[] = []
  let secret = false
  let hidden = 0
  for (const line of found.split("\n")) {
    if (line.startsWith("(")) secret = false
    else if (/^\S.*:$/.test(line)) secret = isSecretFile(line.slice(0, -1))
    if (!secret) kept.push(line)
    else if (line.startsWith("  ")) hidden++
  }
  return hidden === 0 ? found : [...kept, `(${hidden} matches in files with secrets are not shown.)`].join("\n")
}
