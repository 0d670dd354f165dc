import type { CheckResult } from "./checks.ts"
import type { Comment, CommentDraft } from "./comments.ts"
import type { FileMark } from "./diff.ts"
import type { Done, MoveReply } from "./protocol.ts"
import type { ReviewFile } from "./review-material.ts"
import type { Disposition } from "./task.ts"

export type FindingRuling = { readonly finding: string; readonly disposition: Disposition; readonly reason?: string }

/** From where a review looks: the whole change, or what came after an earlier snapshot. */
export type Since = "base" | "generation" | "look"

/** A changed file in the list; its size and its lines are asked for apart. */
export type ReviewEntry = {
  readonly path: string
  readonly from?: string
  readonly kind: string
  /** Its content after the change: a viewed mark holds for exactly this one. */
  readonly object: string
  readonly mark?: FileMark
}

export type ReviewFileReply = ReviewFile & {
  /** It is larger than what is shown unasked: how large. */
  readonly folded?: string
  /** The first bytes of what is no text, when asked for. */
  readonly dump?: string
}

/** About the change of a card in Review: reading it file by file, ruling, commenting, sending it back. */
export type ReviewRequests = {
  "validator.waive": { request: { readonly sessionID: string; readonly reason: string }; reply: Done }
  "findings.rule": { request: { readonly sessionID: string; readonly rulings: readonly FindingRuling[] }; reply: Done }
  /** Takes a new snapshot of the worktree as it is and has it reviewed. */
  "review.again": { request: { readonly sessionID: string }; reply: Done }
  /** The list, without looking into the files. The whole change is then what the person last looked at. */
  "review.files": {
    request: { readonly sessionID: string; readonly since: Since }
    reply: {
      readonly from: string
      readonly to: string
      readonly files: readonly ReviewEntry[]
      /** What belongs to the work and cannot be shown: repositories within the worktree. */
      readonly left: readonly string[]
      /** Paths whose present content the person has marked as viewed. */
      readonly viewed: readonly string[]
      /** Which other beginnings there are. */
      readonly since: readonly Since[]
    }
  }
  /** What is untracked belongs to the task, however much it is: the snapshot is taken with it. */
  "review.allowLarge": { request: { readonly sessionID: string }; reply: Done }
  /** Added and removed lines of each file between two commits of `review.files`; nothing for a binary. */
  "review.sizes": {
    request: { readonly sessionID: string; readonly from: string; readonly to: string }
    reply: { readonly sizes: readonly (readonly [path: string, size: readonly [number, number] | null])[] }
  }
  /** One file; `whole`: also when it is large, and its bytes when it is no text. */
  "review.file": {
    request: {
      readonly sessionID: string
      readonly from: string
      readonly to: string
      readonly path: string
      readonly oldPath?: string
      readonly whole?: boolean
    }
    reply: ReviewFileReply
  }
  "review.viewed": {
    request: { readonly sessionID: string; readonly path: string; readonly object: string; readonly viewed: boolean }
    reply: Done
  }
  /** What came of each check on the snapshot, with the end of its output. */
  "review.checks": {
    request: { readonly sessionID: string }
    reply: {
      readonly snapshot: string
      readonly results: readonly CheckResult[]
      /** The one that runs now in this process, with the end of what it has written so far. */
      readonly running?: { readonly name: string; readonly command: string; readonly output: string }
    }
  }
  /** The person's comments, each at its place in the snapshot under review. */
  "comments.list": { request: { readonly sessionID: string }; reply: { readonly comments: readonly Comment[] } }
  "comment.add": { request: { readonly sessionID: string } & CommentDraft; reply: Done & { readonly id: string } }
  "comment.edit": {
    request: { readonly sessionID: string; readonly id: string; readonly text: string }
    reply: Done
  }
  "comment.delete": { request: { readonly sessionID: string; readonly id: string }; reply: Done }
  /** What the agent would get, as it would get it; empty `text`: there is nothing to fix, only the person's own words. */
  "sendBack.preview": {
    request: { readonly sessionID: string }
    reply: { readonly text: string; readonly prompt: string }
  }
  /** `text`: the context exactly as it is to be given; without it, it is made of the rulings and `note`. */
  "task.sendBack": {
    request: {
      readonly sessionID: string
      readonly mode?: "continue" | "fresh"
      readonly note?: string
      readonly text?: string
    }
    reply: MoveReply
  }
}
