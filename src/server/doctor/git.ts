import { isOn, readSettings, settingOf, type Setting } from "../../shared/git/settings.ts"
import type { Found, Patient } from "./doctor.ts"
import { findProgram } from "./installation.ts"

/** Git, who the person is to it, and whether their signature can be made. */
export async function gitItself({ repository, places }: Patient): Promise<readonly Found[]> {
  const { git, root, hasCommit, shallow, bare } = repository
  const version = await git.version()
  const settings = await readSettings(git, root)
  if (!version.ok || !settings.ok) {
    const text = version.ok ? (settings.ok ? "" : settings.error.text) : version.error.text
    return [{ id: "git", group: "Git", level: "trouble", text }]
  }
  return [
    { id: "git", group: "Git", level: "fine", text: `git ${version.value}` },
    identity(settings.value, places.env),
    ...(await signing(settings.value, places.env)),
    ...(hasCommit ? [] : [note("commit", "this repository has no commit yet", "Make a first one, then create tasks.")]),
    ...(bare ? [note("bare", "this repository has no checkout", "Tasks cannot be merged into it.")] : []),
    ...(shallow
      ? [note("shallow", "this clone is shallow", "What lies before its depth cannot be merged or compared.")]
      : []),
  ]
}

const note = (id: string, text: string, cause: string): Found => ({ id, group: "Git", level: "note", text, cause })

function identity(settings: readonly Setting[], env: Readonly<Record<string, string | undefined>>): Found {
  const name = env["GIT_AUTHOR_NAME"] ?? settingOf(settings, "user.name")
  const email = env["GIT_AUTHOR_EMAIL"] ?? settingOf(settings, "user.email")
  if (name && email)
    return { id: "identity", group: "Git", level: "fine", text: `merges are made as ${name} <${email}>` }
  return {
    id: "identity",
    group: "Git",
    level: "trouble",
    text: `git does not know your ${name ? "address" : email ? "name" : "name and address"}`,
    cause: 'A merge is a commit of yours: git config --global user.name "…" and git config --global user.email "…".',
  }
}

async function signing(
  settings: readonly Setting[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly Found[]> {
  if (!isOn(settings, "commit.gpgsign")) return []
  const format = settingOf(settings, "gpg.format") ?? "openpgp"
  const usual = format === "ssh" ? "ssh-keygen" : format === "x509" ? "gpgsm" : "gpg"
  const program = settingOf(settings, `gpg.${format}.program`) ?? settingOf(settings, "gpg.program") ?? usual
  const base = { id: "signing", group: "Git" } as const
  if (!(await findProgram(program, env))) {
    const cause = "commit.gpgsign is on, so that a merge would fail: install it, or name it in gpg.program."
    return [{ ...base, level: "trouble", text: `commits are to be signed, and ${program} is not there`, cause }]
  }
  if (
    format === "ssh" &&
    !settingOf(settings, "user.signingkey") &&
    !settingOf(settings, "gpg.ssh.defaultkeycommand")
  ) {
    const cause = "commit.gpgsign is on with gpg.format ssh: set user.signingkey, or a merge fails."
    return [{ ...base, level: "trouble", text: "commits are to be signed, and no key is named", cause }]
  }
  return [{ ...base, level: "fine", text: `merges are signed with ${program}` }]
}
