import type { ToolContext, ToolDefinition } from "@opencode-ai/plugin"
import { z } from "zod"
import { parseAssessment } from "../core/assessment.ts"
import { parseFindings, type FindingsReport } from "../core/findings.ts"
import { parsePlannedTasks, type PlannedTask } from "../core/planning.ts"
import type { Result } from "../core/result.ts"
import type { Assessment } from "../core/task.ts"
import { BOARD_TOOL, CREATE_TASKS_TOOL, FINDINGS_TOOL, INTAKE_TOOL, PLAN_AGENT, PLAN_COMMAND } from "./config.ts"

/**
 * Where reports go. Who may report is judged there, by the session that calls; the answers are for the model to read.
 */
export interface HelperReports {
  assessment(sessionID: string, assessment: Assessment): Promise<Result<string, string>>
  findings(sessionID: string, report: FindingsReport): Promise<Result<string, string>>
  createTasks(sessionID: string, tasks: readonly PlannedTask[]): Promise<Result<string, string>>
  board(sessionID: string): Promise<Result<string, string>>
  /** A call that could not be read: told so that a helper that repeats itself is ended. */
  unreadable(sessionID: string, tool: string, reason: string): void
}

/**
 * Kagan's four tools. The host offers their schema to the model and passes on whatever the model sends, so each reads
 * its own arguments; a refusal is an answer with a reason and an example, never an exception.
 */
export function kaganTools(reports: HelperReports): Record<string, ToolDefinition> {
  return {
    [INTAKE_TOOL]: {
      description:
        "Report what you found out about the task, once: how you understand it, the decisions that the person should make, and the instruction for the agent that will do it.",
      args: {
        understanding: z.string().describe("What is wanted, in terms of this code; two or three sentences"),
        decisions: z
          .array(
            z.object({
              question: z.string().describe("What has to be decided, answerable in a sentence"),
              assumption: z.string().describe("What you would assume, concrete enough to be approved as it stands"),
              required: z.boolean().describe("true only where a wrong guess would cost real work or do harm"),
            }),
          )
          .describe("May be empty"),
        instruction: z.string().describe("The task as the agent should get it"),
        mode: z.enum(["autonomous", "assisted", "manual"]),
        modeReason: z.string().describe("Why this mode, one line"),
        split: z
          .array(
            z.object({
              title: z.string(),
              description: z.string(),
              dependsOn: z.array(z.number().int()).optional().describe("Positions of earlier entries, from 0"),
            }),
          )
          .optional()
          .describe("Only when the task is too big for one reviewable change"),
      },
      execute: (args, context) =>
        answer(INTAKE_TOOL, args, context, parseAssessment, (assessment) =>
          reports.assessment(context.sessionID, assessment),
        ),
    },
    [FINDINGS_TOOL]: {
      description: "Report what you found in the change, once. An empty list means that there is nothing to report.",
      args: {
        summary: z.string().describe("What the change does, and what you did not judge"),
        findings: z.array(
          z.object({
            kind: z.enum(["misalignment", "bug", "uncertainty"]),
            severity: z.enum(["low", "medium", "high"]),
            confidence: z.number().describe("0 to 10"),
            title: z.string().describe("One line"),
            detail: z.string().describe("Why, and what would have to change"),
            location: z.string().optional().describe("path:line as the file is after the change"),
          }),
        ),
      },
      execute: (args, context) =>
        answer(FINDINGS_TOOL, args, context, parseFindings, (report) => reports.findings(context.sessionID, report)),
    },
    [CREATE_TASKS_TOOL]: {
      description: "Create tasks on the person's board, all or none. They stand in Backlog; nothing starts by itself.",
      args: {
        tasks: z.array(
          z.object({
            title: z.string().describe("Short, in the imperative"),
            description: z.string().optional().describe("What is wanted, what is not, how one sees that it is done"),
            baseBranch: z.string().optional().describe("Absent: the branch that the board proposes"),
            dependsOn: z
              .array(z.union([z.number().int(), z.string()]))
              .optional()
              .describe("Numbers of tasks on the board, or titles of earlier tasks in this list"),
            model: z.string().optional().describe("provider/model; only when the person asked for one"),
          }),
        ),
      },
      execute: async (args, context) =>
        refusedAgent(context) ??
        answer(CREATE_TASKS_TOOL, args, context, parsePlannedTasks, (tasks) =>
          reports.createTasks(context.sessionID, tasks),
        ),
    },
    [BOARD_TOOL]: {
      description: "The person's board: every task with its number, column and state.",
      args: {},
      execute: async (_args, context) => refusedAgent(context) ?? textOf(await reports.board(context.sessionID)),
    },
  }

  async function answer<T>(
    tool: string,
    args: unknown,
    context: ToolContext,
    parse: (raw: unknown) => Result<T, string>,
    report: (value: T) => Promise<Result<string, string>>,
  ): Promise<string> {
    const read = parse(args)
    if (read.ok) return textOf(await report(read.value))
    reports.unreadable(context.sessionID, tool, read.error)
    return read.error
  }
}

/**
 * Planning belongs to `/kagan-task`. A rule of an agent that another plugin adds after ours may show our tools to it;
 * they do nothing there.
 */
function refusedAgent(context: ToolContext): string | undefined {
  return context.agent === PLAN_AGENT ? undefined : `Refused: only /${PLAN_COMMAND} plans tasks for the board.`
}

function textOf(result: Result<string, string>): string {
  return result.ok ? result.value : result.error
}
