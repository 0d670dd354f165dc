import type { RunStateKind } from "../../core/board.ts"
import type { NoticeLevel } from "../../core/protocol.ts"

/** What a colour says, not which colour it is: the host's theme decides that. */
export type Tone = "text" | "muted" | "border" | "primary" | "accent" | "success" | "warning" | "error" | "info"

export type Sign = { readonly icon: string; readonly ascii: string; readonly tone: Tone }

const sign = (icon: string, ascii: string, tone: Tone): Sign => ({ icon, ascii, tone })

/** Icon and tone of each run state; the words beside it carry the meaning, the icon only makes it quick to find. */
export const RUN_SIGN: Readonly<Record<RunStateKind, Sign>> = {
  draft: sign("✎", "d", "warning"),
  preparing: sign("◌", "o", "muted"),
  setup_failed: sign("✗", "x", "error"),
  intake_running: sign("◌", "o", "info"),
  intake_failed: sign("✗", "x", "error"),
  needs_answers: sign("◆", "*", "warning"),
  ready: sign("✓", "+", "success"),
  queued: sign("◔", "~", "muted"),
  starting: sign("●", ">", "info"),
  working: sign("●", ">", "info"),
  retrying: sign("↻", "@", "warning"),
  asks_permission: sign("?", "?", "warning"),
  asks_question: sign("?", "?", "warning"),
  asks_large: sign("?", "?", "warning"),
  checking: sign("◌", "o", "muted"),
  session_blocked: sign("‖", "=", "warning"),
  interrupted: sign("‖", "=", "warning"),
  failed: sign("✗", "x", "error"),
  stalled: sign("‖", "=", "error"),
  command_running: sign("⚠", "!", "error"),
  elsewhere: sign("⇄", "%", "muted"),
  reviewing: sign("◌", "o", "info"),
  review_failed: sign("✗", "x", "error"),
  no_changes: sign("○", "o", "warning"),
  needs_triage: sign("▲", "^", "warning"),
  changed_since_review: sign("⚠", "!", "warning"),
  conflicts: sign("⚠", "!", "error"),
  approvable: sign("✓", "+", "success"),
  merging: sign("●", ">", "info"),
  merge_failed: sign("✗", "x", "error"),
  in_base: sign("✓", "+", "info"),
  done_merged: sign("✓", "+", "success"),
  done_left: sign("○", "o", "muted"),
  folder_missing: sign("⌂", "#", "error"),
  branch_gone: sign("⌂", "#", "error"),
  session_gone: sign("⌂", "#", "error"),
  problem: sign("✗", "x", "error"),
  read_only: sign("○", "o", "muted"),
}

export const NOTICE_SIGN: Readonly<Record<NoticeLevel, Sign>> = {
  info: sign("●", "i", "info"),
  success: sign("✓", "+", "success"),
  warning: sign("⚠", "!", "warning"),
  error: sign("✗", "x", "error"),
}

export type Glyphs = {
  readonly of: (sign: Sign) => string
  readonly bar: string
  readonly up: string
  readonly down: string
  readonly left: string
  readonly right: string
  readonly full: string
  readonly empty: string
  readonly dot: string
  readonly minus: string
  /** From least to most. */
  readonly spark: string
}

const UNICODE: Glyphs = {
  of: (sign) => sign.icon,
  bar: "▌",
  up: "⌃",
  down: "⌄",
  left: "‹",
  right: "›",
  full: "▰",
  empty: "▱",
  dot: "·",
  minus: "−",
  spark: "▁▂▃▄▅▆▇█",
}

const ASCII: Glyphs = {
  of: (sign) => sign.ascii,
  bar: "|",
  up: "^",
  down: "v",
  left: "<",
  right: ">",
  full: "#",
  empty: "-",
  dot: "-",
  minus: "-",
  spark: "_.-=+*#@",
}

/** The signs that this terminal's locale can show. */
export function glyphsFor(env: Readonly<Record<string, string | undefined>>): Glyphs {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || ""
  return locale === "C" || locale === "POSIX" || /iso-?8859|ascii/i.test(locale) ? ASCII : UNICODE
}
