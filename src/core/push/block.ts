/*
 * The block that git itself keeps: settings under which every push of a repository leads to an address that no program
 * serves, and fetching goes on as before.
 */

export type Setting = readonly [key: string, value: string]

const NOWHERE = "kagan-blocked://"

export type Block = {
  readonly settings: readonly Setting[]
  /** Remotes whose push cannot be told from their fetch by settings: for these the other layers must do. */
  readonly open: readonly string[]
}

/** Whether a setting is one of the block's own. */
export function isBlock([key, value]: Setting): boolean {
  return key.startsWith(`url.${NOWHERE}.`) || (/^remote\..+\.pushurl$/.test(key) && value.startsWith(NOWHERE))
}

/**
 * The block for a repository with these settings (names in git's own spelling, section and last part in small letters).
 * An empty prefix stands for every address, so a push to one that is written out is caught as well. It does not reach
 * two cases, which get settings of their own: a remote with a push address, and addresses that the person's settings
 * rewrite for pushing.
 */
export function blockOf(found: readonly Setting[]): Block {
  const theirs = found.filter((setting) => !isBlock(setting))
  const remotes = new Map<string, { urls: string[]; pushURLs: string[] }>()
  for (const [key, value] of theirs) {
    const [, name, what] = /^remote\.(.+)\.(url|pushurl)$/s.exec(key) ?? []
    if (name === undefined) continue
    const remote = remotes.get(name) ?? { urls: [], pushURLs: [] }
    remotes.set(name, remote)
    if (what === "url") remote.urls.push(value)
    else remote.pushURLs.push(value)
  }
  const fetched = [...remotes.values()].flatMap((remote) => remote.urls)
  const rewrites = theirs.filter(([key]) => /^url\..*\.pushinsteadof$/s.test(key)).map(([, prefix]) => prefix)
  const settings: Setting[] = [[`url.${NOWHERE}.pushinsteadof`, ""]]
  const open: string[] = []
  for (const [name, { urls, pushURLs }] of remotes) {
    // The longest prefix wins, so an address that theirs would rewrite is named whole.
    for (const url of urls) {
      if (rewrites.some((prefix) => url.startsWith(prefix))) settings.push([`url.${NOWHERE}.pushinsteadof`, url])
    }
    // One more push address does not replace the others: only where there is none does ours stand alone.
    if (pushURLs.length === 0) settings.push([`remote.${name}.pushurl`, NOWHERE + encodeURIComponent(name)])
    for (const url of pushURLs) {
      if (!fetched.some((other) => other.startsWith(url))) settings.push([`url.${NOWHERE}.insteadof`, url])
      else {
        settings.push([`remote.${name}.receivepack`, "kagan-blocked"])
        open.push(name)
      }
    }
  }
  const unique = new Map(settings.map((setting) => [JSON.stringify(setting), setting]))
  return { settings: [...unique.values()], open: [...new Set(open)] }
}

/** The settings as variables of an environment, behind those that are in it already. */
export function blockEnv(
  settings: readonly Setting[],
  before: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const count = Number(before["GIT_CONFIG_COUNT"] ?? "0")
  const from = Number.isInteger(count) && count > 0 ? count : 0
  const env: Record<string, string> = { GIT_CONFIG_COUNT: String(from + settings.length) }
  settings.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${from + index}`] = key
    env[`GIT_CONFIG_VALUE_${from + index}`] = value
  })
  return env
}
