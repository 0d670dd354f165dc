import { STATUS_TITLE, STATUSES, type Status } from "../../src/core/task.ts"

/**
 * In which column of the board a card stands, read off the screen as a person does: below the heads, at the head it
 * stands under. Undefined when the four heads are not in one row, or the card is under none of them.
 */
export function columnOnScreen(screen: string, card: string): Status | undefined {
  const lines = screen.split("\n")
  const headRow = lines.findIndex((line) => STATUSES.every((status) => line.includes(STATUS_TITLE[status])))
  if (headRow < 0) return undefined
  const heads = STATUSES.map((status) => ({ status, col: lines[headRow]!.indexOf(STATUS_TITLE[status]) }))
  for (const line of lines.slice(headRow + 1)) {
    const col = line.indexOf(card)
    if (col < 0) continue
    // The head is indented by a border and a blank at most.
    return heads.findLast((head) => head.col - 2 <= col)?.status
  }
  return undefined
}
