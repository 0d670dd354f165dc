import { access, constants } from "node:fs/promises"
import { delimiter, join } from "node:path"
import { judgeHost } from "../../core/host-version.ts"
import type { Found, Patient } from "./doctor.ts"

/** The host, the two halves of us in it, and the programs that it uses. */
export async function installation({ hostVersion, board, version, places }: Patient): Promise<readonly Found[]> {
  const host = judgeHost(hostVersion)
  return [
    {
      id: "host",
      group: "OpenCode",
      level: host.kind === "tested" ? "fine" : host.kind === "older" ? "trouble" : "note",
      text: host.text,
      ...(host.kind === "newer" ? { cause: "It may well work; what goes wrong is worth a report." } : {}),
      ...(host.kind === "older" ? { cause: "Update OpenCode: opencode upgrade." } : {}),
    },
    halves(version, board),
    ...(await search(places.env)),
  ]
}

function halves(version: string, board: Patient["board"]): Found {
  const base = { id: "halves", group: "OpenCode" } as const
  if (!board) return { ...base, level: "fine", text: `Kagan ${version} (this command; /kagan-doctor sees both halves)` }
  if (board.version === version) return { ...base, level: "fine", text: `both halves of Kagan run, version ${version}` }
  return {
    ...base,
    level: "trouble",
    text: `the board is version ${board.version}, the server half ${version}`,
    cause: "Restart OpenCode; if it stays so, the two config files name different versions.",
  }
}

/** The helpers' search needs a program that the host would otherwise fetch from the network. */
async function search(env: Readonly<Record<string, string | undefined>>): Promise<readonly Found[]> {
  if (await findProgram("rg", env)) return []
  return [
    {
      id: "ripgrep",
      group: "OpenCode",
      level: "note",
      text: "ripgrep (rg) is not installed",
      cause:
        "OpenCode fetches it when it is first needed; without a network helpers can read files but not search them.",
    },
  ]
}

/** Where a program stands, as a shell would find it. */
export async function findProgram(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const places = name.includes("/") ? [name] : (env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, name))
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    )
    if (found) return place
  }
  return undefined
}
