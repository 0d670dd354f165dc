import type { DoctorReport } from "./doctor.ts"
import type { Done } from "./protocol.ts"
import type { Settings } from "./settings.ts"
import type { UpdateState } from "./updates.ts"

/** About Kagan itself: its settings, its health, its version. */
export type CareRequests = {
  /** Where the options stand: every config file that has, or could have, an entry of ours. */
  "settings.read": { request: Record<never, never>; reply: Settings }
  /** Changes our entry in one config file and nothing else there. Without a value the option is taken out. */
  "settings.write": {
    request: { readonly file: string; readonly option: string; readonly value?: unknown }
    reply: Done & { readonly settings: Settings }
  }
  /** Looks at everything that Kagan stands on. What the screen's half knows of itself comes along. */
  "doctor.run": { request: { readonly hostVersion: string; readonly version: string }; reply: DoctorReport }
  "doctor.repair": {
    request: { readonly hostVersion: string; readonly version: string; readonly id: string }
    reply: Done
  }
  /** Asks the registry for a newer Kagan. `written`: the specs that earlier updates wrote into the config files. */
  "update.check": {
    request: { readonly hostVersion: string; readonly written: readonly string[] }
    reply: UpdateState
  }
  /** Names that version in both config files, after trying it; on failure the old lines are put back. */
  "update.install": {
    request: { readonly hostVersion: string; readonly written: readonly string[]; readonly version: string }
    reply: Done & { readonly spec: string }
  }
}
