import type { NewTask } from "./draft.ts"
import { booleanOf, cut, listOf, objectOf, textOf, wordOf } from "./loose.ts"
import { err, ok, type Result } from "./result.ts"
import type { Answer, Assessment, Decision, Mode, SplitTask, Task } from "./task.ts"

const MODES: readonly Mode[] = ["autonomous", "assisted", "manual"]
const MAX_DECISIONS = 20
const MAX_SPLIT = 20
/** Of the description that every part repeats. */
const MAX_WHOLE = 8_000

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

/**
 * The tasks of a split as they are to be created: each says of what it is a part and what was decided for the whole, takes
 * over base, model, agent and scope, and the first ones wait for what the whole waited for.
 */
export function splitTasks(
  { title, meta, description }: Task & { readonly description: string },
  { split = [], decisions }: Assessment,
  answers: readonly Answer[],
): readonly NewTask[] {
  const decided = decisions.flatMap(({ question, assumption }, index) => {
    const answer = answers.find((one) => one.decision === index)
    return answer ? [`- ${question}\n  ${answer.kind === "overridden" ? (answer.text ?? "") : assumption}`] : []
  })
  const { baseBranch, model, agent, scope, dependsOn = [] } = meta
  return split.map((part, index) => {
    const after = part.dependsOn ?? []
    const texts = [
      part.description,
      `Part ${index + 1} of ${split.length} of #${meta.taskNumber} (${title}); the other parts are tasks of their own.`,
      ...(description.trim() === "" ? [] : [`What was asked for as a whole:\n${cut(description.trim(), MAX_WHOLE)}`]),
      ...(decided.length > 0 ? [`Decided for the whole:\n${decided.join("\n")}`] : []),
    ]
    return {
      title: part.title,
      description: texts.filter((text) => text !== "").join("\n\n"),
      baseBranch,
      ...(model ? { model } : {}),
      ...(agent ? { agent } : {}),
      ...(scope ? { scope } : {}),
      ...(after.length > 0 ? { after } : dependsOn.length > 0 ? { dependsOn } : {}),
    }
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
