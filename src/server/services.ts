import type { ReplyOf, RequestFailure, RequestOf, ServiceRequest } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import { examine, repair, reportOf, type Patient } from "./doctor/doctor.ts"
import type { SettingsDesk } from "./settings.ts"
import type { UpdatesDesk } from "./updates.ts"

export type Services = {
  readonly settings: SettingsDesk
  readonly updates: UpdatesDesk
  readonly patient: (board: { readonly hostVersion: string; readonly version: string }) => Patient
}

export type ServiceHandlers = {
  readonly [T in ServiceRequest]: (body: RequestOf<T>) => Promise<Result<ReplyOf<T>, RequestFailure>>
}

/** Answers a board in what concerns Kagan itself: its settings, its health, its version. */
export function serviceHandlers({ settings, patient, updates }: Services): ServiceHandlers {
  return {
    "settings.read": async () => ok(await settings.read()),
    "settings.write": (body) => settings.write(body),
    "doctor.run": async (body) => ok(reportOf(await examine(patient(body)))),
    "doctor.repair": (body) => repair(patient(body), body.id),
    "update.check": async (body) => ok(await updates.check(body)),
    "update.install": (body) => updates.install(body),
  }
}
