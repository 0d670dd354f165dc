import { collector, type Finding } from "./findings.ts"
import type { Audited } from "./program.ts"
import { rawTypes } from "./raw.ts"
import { reach } from "./reach.ts"
import { steer } from "./steer.ts"
import { doubtful, entrances, turnGateways, turnSinks, unmistakable } from "./surface.ts"

/** Every way to start or steer a turn, and every step towards one, in the files whose path starts with `prefix`. */
export function auditTurns(audited: Audited, prefix: string): Finding[] {
  const { report, findings } = collector(audited)
  const raw = rawTypes(audited, { sinks: turnSinks, gateways: turnGateways }, unmistakable)
  for (const file of audited.sources(prefix)) {
    reach(audited, { raw, names: unmistakable, doubtful, entrances: new Set(entrances) }, file, report)
    steer(audited, file, report)
  }
  return findings
}
