import { join } from "node:path"
import { readDraft } from "../../core/draft.ts"
import { isObject } from "../../core/loose.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { homeRelative } from "../../core/settings.ts"
import { dropClaim, readClaim, type Identity } from "../../shared/store/claim.ts"
import type { Store } from "../../shared/store.ts"
import type { Found, Patient } from "./doctor.ts"
import { readRecords, type ReadRecord } from "./records.ts"

/** What stands beside the repository: lock, leases, claims, records, the counter and drafts. */
export async function files(patient: Patient): Promise<readonly Found[]> {
  const { store } = patient
  const records = await readRecords(store)
  const leases = await store.names(store.paths.leases)
  const parts = await Promise.all([
    lock(store),
    ...(leases.ok ? leases.value : []).map((sessionID) => lease(store, sessionID)),
    counter(store, records),
    drafts(store),
  ])
  const found = [...parts.flat(), ...records.flatMap((record) => ofRecord(patient, record))]
  if (found.some(({ level }) => level === "trouble")) return found
  return [
    {
      id: "files",
      group: "Files",
      level: "fine",
      text: `${records.length} tasks on record in ${homeRelative(store.dir, patient.places.env["HOME"])}`,
    },
    ...found,
  ]
}

async function lock(store: Store): Promise<Found[]> {
  const path = join(store.dir, "lock")
  const claim = await readClaim(path)
  if (!claim) return []
  const base = { id: "lock", group: "Files" } as const
  const alive = store.alive(claim)
  if (alive === true) {
    return [
      {
        ...base,
        level: "note",
        text: `the lock is held by process ${claim.pid}`,
        cause: "That is usual for a moment.",
      },
    ]
  }
  if (alive === "elsewhere") {
    const cause = "Only that machine can tell whether it is still at work. If it is not, remove the file by hand."
    return [{ ...base, level: "trouble", text: `${path} is held by ${claim.host}`, cause }]
  }
  return [
    {
      ...base,
      level: "note",
      text: `the lock is held by process ${claim.pid}, which is gone`,
      cause: "Whoever needs it next takes it over.",
      repair: "lets go of it",
      mend: () => letGo(path, claim.nonce, "the lock"),
    },
  ]
}

async function lease(store: Store, sessionID: string): Promise<Found[]> {
  const path = join(store.paths.leases, sessionID)
  const claim = await readClaim(path)
  if (!claim) return []
  const alive = store.alive(claim)
  if (alive === true) return []
  const base = { id: `lease:${sessionID}`, group: "Files" } as const
  if (alive === "elsewhere") {
    const cause = "Its turn may still run there. From the card, r takes it over on your word."
    return [{ ...base, level: "note", text: `${sessionID} is run by ${claim.host}`, cause }]
  }
  return [
    {
      ...base,
      level: "note",
      text: `the lease of ${sessionID} is held by process ${claim.pid}, which is gone`,
      cause: "OpenCode was killed in the middle of its turn; the next start of work takes it over.",
      repair: "lets go of it",
      mend: () => letGo(path, claim.nonce, "the lease"),
    },
  ]
}

async function letGo(path: string, nonce: string, what: string): Promise<Result<string, string>> {
  return (await dropClaim(path, nonce)) ? ok(`let go of ${what}`) : err(`somebody else has taken ${what} meanwhile`)
}

/** The next number must be higher than every one that was given, or a card would get one that another had. */
async function counter(store: Store, records: readonly ReadRecord[]): Promise<Found[]> {
  const path = join(store.dir, "counter.json")
  const read = await store.readJson(path)
  if (!read.ok && read.error.kind === "missing") return []
  const last = read.ok && isObject(read.value) ? read.value["last"] : undefined
  if (typeof last === "number" && Number.isSafeInteger(last) && last >= 0) return []
  const highest = Math.max(0, ...records.map(({ taskNumber }) => taskNumber))
  return [
    {
      id: "counter",
      group: "Files",
      level: "trouble",
      text: `${path} cannot be read`,
      cause: "Without it no task gets a number, and none can be created.",
      repair: `counts on from ${highest + 1}, above every task on record`,
      mend: async () => {
        const written = await store.withLock(() => store.writeJson(path, { last: highest }))
        if (!written.ok) return err(written.error.text)
        return written.value.ok ? ok(`the next task is #${highest + 1} or higher`) : err(written.value.error.text)
      },
    },
  ]
}

async function drafts(store: Store): Promise<Found[]> {
  const names = await store.names(store.paths.drafts)
  const found = await Promise.all(
    (names.ok ? names.value : []).map(async (name): Promise<Found[]> => {
      const path = join(store.paths.drafts, name)
      const read = await store.readJson(path)
      if (read.ok && readDraft(read.value)) return []
      const cause = "What was typed may still be in it: open it, keep what you need, and remove it by hand."
      return [{ id: `draft:${name}`, group: "Files", level: "trouble", text: `${path} cannot be read`, cause }]
    }),
  )
  return found.flat()
}

function ofRecord({ store, writeRecord }: Patient, record: ReadRecord): Found[] {
  const { taskNumber, problem, unreadable, readOnly, kagan } = record
  const base = { id: `record:${taskNumber}`, group: "Files" } as const
  if (problem !== undefined) {
    return [
      {
        ...base,
        level: "trouble",
        text: `the record of #${taskNumber} cannot be read`,
        cause: `${problem}. What counts is in its session; the record is what is left when that is gone.`,
        ...(writeRecord
          ? {
              repair: "writes it anew from the session",
              mend: async () => {
                const written = await writeRecord(taskNumber)
                return written.ok ? ok(`the record of #${taskNumber} is written anew`) : err(written.error)
              },
            }
          : {}),
      },
    ]
  }
  if (unreadable.length > 0) {
    const cause = readOnly
      ? "It was written by a newer Kagan, or damaged: the card is read-only. Update Kagan (/kagan-update)."
      : "The fields are left as they are and count as absent."
    return [{ ...base, level: "trouble", text: `#${taskNumber}: ${unreadable.join("; ")}`, cause }]
  }
  return record.open && kagan ? claimsIn(kagan).flatMap((claim) => ofClaim(store, taskNumber, claim)) : []
}

function ofClaim(store: Store, taskNumber: number, { at, claim }: FoundClaim): Found[] {
  const alive = store.alive(claim)
  if (alive === true) return []
  const text =
    alive === "elsewhere"
      ? `#${taskNumber}: ${at} is claimed by ${claim.host}`
      : `#${taskNumber}: ${at} is claimed by process ${claim.pid}, which is gone`
  const cause =
    alive === "elsewhere"
      ? "Only that machine can tell whether it is still at work."
      : "The next look at the card takes it over: open the board."
  return [{ id: `claim:${taskNumber}:${at}`, group: "Files", level: "note", text, cause }]
}

type FoundClaim = { readonly at: string; readonly claim: Identity }

/** Claims wherever they stand in a task's metadata. */
function claimsIn(value: Readonly<Record<string, unknown>>, at = ""): FoundClaim[] {
  return Object.entries(value).flatMap(([key, inner]): FoundClaim[] => {
    if (!isObject(inner)) return []
    const { pid, start, host } = inner
    if (key === "claim" && typeof pid === "number" && typeof start === "string" && typeof host === "string") {
      return [{ at: at || "it", claim: { pid, start, host } }]
    }
    return claimsIn(inner, at ? `${at}.${key}` : key)
  })
}
