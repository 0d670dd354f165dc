import { booleanOf, listOf, objectOf, textOf, wordOf } from "./loose.ts"
import { err, ok, type Result } from "./result.ts"
import type { Assessment, Decision, Mode, SplitTask } from "./task.ts"

const MODES: readonly Mode[] = ["autonomous", "assisted", "manual"]
const MAX_DECISIONS = 20
const MAX_SPLIT = 20

const EXAMPLE = `{"understanding": "…", "decisions": [{"question": "…", "assumption": "…", "required": true}], "instruction": "…", "mode": "assisted", "modeReason": "…"}`

/**
 * Reads what the intake helper reports. A missing list of decisions is refused, not taken for "nothing to decide"; an
 * unclear `required` counts as required, and an unclear mode as assisted, since both only ask the person for more.
 */
export function parseAssessment(raw: unknown): Result<Assessment, string> {
  const args = objectOf(raw)
  if (!args) return refuse("the arguments are no object")
  const understanding = textOf(args["understanding"], 4_000)
  if (!understanding) return refuse("`understanding` is missing")
  const instruction = textOf(args["instruction"], 12_000)
  if (!instruction) return refuse("`instruction` is missing")
  const items = listOf(args["decisions"])
  if (!items) return refuse("`decisions` must be a list; give [] when there is nothing to decide")
  if (items.length > MAX_DECISIONS) {
    return refuse(
      `\`decisions\` has ${items.length} entries, at most ${MAX_DECISIONS} are read: keep those that matter`,
    )
  }
  const decisions: Decision[] = []
  for (const [index, item] of items.entries()) {
    const entry = objectOf(item)
    const question = textOf(entry?.["question"], 1_000)
    const assumption = textOf(entry?.["assumption"], 2_000)
    if (!question || !assumption)
      return refuse(`decision ${index + 1} needs a \`question\` and the \`assumption\` that you would make`)
    decisions.push({ question, assumption, required: booleanOf(entry?.["required"]) ?? true })
  }
  const split = parseSplit(args["split"])
  if (!split.ok) return split
  return ok({
    understanding,
    decisions,
    instruction,
    mode: wordOf(args["mode"], MODES) ?? "assisted",
    modeReason: textOf(args["modeReason"] ?? args["mode_reason"], 300) ?? "",
    ...(split.value.length > 0 ? { split: split.value } : {}),
  })
}

function parseSplit(raw: unknown): Result<readonly SplitTask[], string> {
  if (raw === undefined || raw === null || raw === "") return ok([])
  const items = listOf(raw)
  if (!items) return refuse("`split` must be a list of tasks, or absent")
  if (items.length > MAX_SPLIT) return refuse(`\`split\` has ${items.length} entries, at most ${MAX_SPLIT} are read`)
  const tasks: SplitTask[] = []
  for (const [index, item] of items.entries()) {
    const entry = objectOf(item)
    const title = textOf(entry?.["title"], 200)
    if (!title) return refuse(`task ${index + 1} of \`split\` needs a \`title\``)
    const wanted = listOf(entry?.["dependsOn"] ?? entry?.["depends_on"] ?? [])
    if (!wanted)
      return refuse(`\`dependsOn\` of task ${index + 1} of \`split\` must be a list of positions in the list`)
    const dependsOn: number[] = []
    for (const value of wanted) {
      const position = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value
      // An earlier one only: so a circle cannot be written.
      if (typeof position !== "number" || !Number.isInteger(position) || position < 0 || position >= index) {
        return refuse(`task ${index + 1} of \`split\` may depend on earlier ones only, named by position from 0`)
      }
      if (!dependsOn.includes(position)) dependsOn.push(position)
    }
    const description = textOf(entry?.["description"], 8_000) ?? ""
    tasks.push({ title, description, ...(dependsOn.length > 0 ? { dependsOn } : {}) })
  }
  return ok(tasks)
}

function refuse(reason: string): Result<never, string> {
  return err(`Not recorded: ${reason}. Call the tool again like this: ${EXAMPLE}`)
}
