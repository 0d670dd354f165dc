/** OpenCode's configuration files that a repository may track. */
export const hostConfigPaths = [
  "opencode.json",
  "opencode.jsonc",
  ".opencode/opencode.json",
  ".opencode/opencode.jsonc",
] as const

const SCHEMA_LINE = '{\n  "$schema": "https://opencode.ai/config.json",'

/**
 * The text that the host (1.18.33) writes back when it loads a config file without `$schema`. A file that equals it was
 * changed by the host and not by the task.
 */
export function withHostSchema(text: string): string {
  return text.replace(/^\s*\{/, () => SCHEMA_LINE)
}
