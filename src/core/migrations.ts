import { METADATA_VERSION } from "./task.ts"

/** A stored `kagan` object, of whatever version. */
export type Raw = Readonly<Record<string, unknown>>

/** Makes the shape of the next version out of one: only what that version changed; foreign keys pass through. */
export type Migration = (raw: Raw) => Raw

export type Versions = {
  /** The version that is written. */
  readonly now: number
  /** By the version that each starts from; there is one for each older version. */
  readonly from: Readonly<Record<number, Migration>>
}

/** Version 1 is the first: there is nothing older to come from. */
export const VERSIONS: Versions = { now: METADATA_VERSION, from: {} }

export type Migrated =
  | { readonly kind: "current" | "migrated"; readonly raw: Raw }
  | { readonly kind: "newer"; readonly raw: Raw }
  /** It cannot be brought to this version; it is left as it is. */
  | { readonly kind: "stuck"; readonly raw: Raw; readonly why: string }

/** Brings a stored object to the present version, step by step. It never throws and changes nothing that is stored. */
export function migrate(raw: Raw, versions: Versions = VERSIONS): Migrated {
  const { v } = raw
  // What is no version at all is reported by the codec, as any field that cannot be read.
  if (typeof v !== "number" || !Number.isInteger(v) || v < 1 || v === versions.now) return { kind: "current", raw }
  if (v > versions.now) return { kind: "newer", raw }
  let next = raw
  for (let from = v; from < versions.now; from++) {
    const step = versions.from[from]
    if (!step) return { kind: "stuck", raw, why: `there is no way from version ${from}` }
    try {
      next = { ...step(next), v: from + 1 }
    } catch (cause) {
      return { kind: "stuck", raw, why: `version ${from} could not be read: ${String(cause)}` }
    }
  }
  return { kind: "migrated", raw: next }
}
