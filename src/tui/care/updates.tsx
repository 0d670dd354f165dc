import type { TuiPluginApi } from "@opencode-ai/plugin/tui"
import { createEffect, createSignal } from "solid-js"
import { displayable } from "../../core/text.ts"
import type { UpdateState } from "../../core/updates.ts"
import type { Options } from "../../core/options.ts"
import type { Ask, LinkState } from "../channel.ts"
import type { Time } from "../time.ts"

const DAY = 24 * 60 * 60 * 1_000
const KEY = "kagan.update"

/** What is remembered in the host's own store, over restarts. */
type Memory = {
  readonly checkedAt?: number
  /** The newest that the last check found; empty: none. */
  readonly newer?: string
  /** Of which the toast has told. */
  readonly told?: string
  /** The specs that updates of ours wrote into the config files. */
  readonly written?: readonly string[]
}

/** What the search for a newer version needs of everything that the views share. */
export type UpdateWorld = {
  readonly host: Pick<TuiPluginApi, "kv" | "ui">
  readonly hostVersion: string
  readonly version: string
  readonly time: Time
  readonly ask: Ask
  readonly options: () => Options
  readonly link: () => LinkState
  /** Whether a screen of ours is shown, on which the host shows no toast. */
  readonly isOurs: () => boolean
}

/**
 * A newer version of Kagan: looked for at most once a day, told by one toast outside of the board and by the board's
 * footer, never by a notice.
 */
export function createUpdates(world: UpdateWorld) {
  const { kv } = world.host
  const [newer, setNewer] = createSignal<string>()
  const [waiting, setWaiting] = createSignal<string>()
  let looked = false

  const memory = (): Memory => {
    const kept = kv.get<unknown>(KEY)
    return typeof kept === "object" && kept !== null ? (kept as Memory) : {}
  }
  const remember = (change: Memory) => kv.set(KEY, { ...memory(), ...change })
  const written = () => (memory().written ?? []).filter((spec) => typeof spec === "string")

  function take(state: UpdateState) {
    const found = state.kind === "newer" ? state.version : undefined
    remember({ checkedAt: world.time.now(), newer: found ?? "" })
    setNewer(found)
  }

  async function check() {
    // Before the answer: a window that is closed meanwhile has had its try of the day as well.
    remember({ checkedAt: world.time.now() })
    const answer = await world.ask("update.check", { hostVersion: world.hostVersion, written: written() })
    if (answer.ok) take(answer.value)
    return answer
  }

  createEffect(() => {
    if (world.link().kind !== "up" || !world.options().updates || looked) return
    looked = true
    const { checkedAt = 0, newer: known } = memory()
    if (Math.abs(world.time.now() - checkedAt) >= DAY) void check()
    else if (known && known !== world.version) setNewer(known)
  })

  createEffect(() => {
    const version = newer()
    if (version === undefined || world.isOurs() || memory().told === version) return
    remember({ told: version })
    const message = displayable(`Kagan ${version} is there: /kagan-update`)
    world.host.ui.toast({ variant: "info", title: "Kagan", message })
  })

  return {
    /** For the board's footer. */
    status(): string | undefined {
      if (waiting() !== undefined) return `restart for ${waiting()}`
      return newer() === undefined ? undefined : `update ${newer()}`
    },
    check,
    async install(version: string) {
      const body = { hostVersion: world.hostVersion, written: written(), version }
      const answer = await world.ask("update.install", body)
      if (answer.ok) {
        remember({ written: [...written(), answer.value.spec].slice(-20) })
        setWaiting(version)
      }
      return answer
    },
  }
}
