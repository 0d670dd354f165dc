import {
  delay,
  text,
  toolCalls,
  type RecordedRequest,
  type Reply,
  type Script,
  type ToolCall,
} from "../../test/kit/model.ts"
import { firstAddedLine } from "../../test/kit/model-script.ts"
import { JOBS, type Job } from "./jobs.ts"

export interface Pace {
  /** How long the model "thinks" before each answer, so that a person can watch the states go by. */
  readonly thinkMs: number
  /** Waited for before each answer, so that a station is not passed before it was looked at. */
  readonly before?: (request: RecordedRequest) => Promise<void>
  /** What it knows to do; the sample project's suggestions without it. */
  readonly jobs?: readonly Job[]
}

/** The model of the demo: it assesses, works and reviews like a quick, slightly careless colleague. */
export function demoScript(pace: Pace): Script {
  return async (request) => {
    await pace.before?.(request)
    const reply = answer(request, pace.jobs ?? JOBS)
    return pace.thinkMs > 0 ? delay(pace.thinkMs, reply) : reply
  }
}

function answer(request: RecordedRequest, jobs: readonly Job[]): Reply {
  switch (request.kind) {
    case "title":
      return text("A chat in the teahouse")
    case "plan":
      return text("This model is scripted and plans nothing: press n on the board to write a task.")
    case "intake":
      return request.toolResults.length > 0 ? text("The assessment is written down.") : intake(jobOf(request, jobs))
    case "validator":
      return request.toolResults.length > 0
        ? text("The review is written down.")
        : review(request, jobOf(request, jobs))
    case "work":
      return work(request, jobOf(request, jobs))
  }
}

/** The job that a request is about, told by all that was said to the model. */
function jobOf(request: RecordedRequest, jobs: readonly Job[]): Job {
  const said = wholeText(request)
  return jobs.find((job) => job.match.test(said))!
}

function intake(job: Job): Reply {
  const { understanding, decisions, instruction, mode, modeReason } = job
  return toolCalls({ name: "kagan_intake", args: { understanding, decisions, instruction, mode, modeReason } })
}

function work(request: RecordedRequest, job: Job): Reply {
  if (!request.tools.includes("write")) return text("This model is scripted: take a card through the board instead.")
  const turn = request.messages.slice(request.messages.findLastIndex((message) => message.role === "user"))
  const called = turn.flatMap((message) => message.toolCalls.map((call) => call.name))
  // The host lets nobody overwrite a file that they have not read.
  if (job.todos && !called.includes("todowrite")) return toolCalls(todos(job.todos))
  if (!called.includes("read")) return toolCalls({ name: "read", args: { filePath: job.file } })
  if (!called.includes("write")) {
    const complaint = job.findings[0]?.title
    const again = complaint !== undefined && wholeText(request).includes(complaint)
    const content = again ? (job.better ?? job.content) : job.content
    return toolCalls({ name: "write", args: { filePath: job.file, content } })
  }
  if (job.command !== undefined && !called.includes("bash")) {
    return toolCalls({ name: "bash", args: { command: job.command, description: "Asks for what it may not do alone" } })
  }
  return text(job.done)
}

function todos(list: readonly string[]): ToolCall {
  const done = Math.floor(list.length / 2)
  const status = (at: number) => (at < done ? "completed" : at === done ? "in_progress" : "pending")
  return {
    name: "todowrite",
    args: { todos: list.map((content, at) => ({ content, status: status(at), priority: "medium" })) },
  }
}

function review(request: RecordedRequest, job: Job): Reply {
  const prompt = wholeText(request)
  const added = firstAddedLine(prompt)
  const at = added ? { location: `${added.file}:${added.line}` } : {}
  const isBetter = job.better !== undefined && addsAllOf(job.better, prompt)
  return toolCalls({
    name: "kagan_findings",
    args: isBetter
      ? { summary: "The change does what was agreed, and the finding is gone.", findings: [] }
      : { summary: job.summary, findings: job.findings.map((complaint) => ({ ...at, ...complaint })) },
  })
}

/** Whether a diff has every line of a text, added or unchanged. */
function addsAllOf(content: string, diff: string): boolean {
  return content.split("\n").every((line) => line === "" || diff.includes(`+${line}\n`) || diff.includes(` ${line}\n`))
}

const wholeText = (request: RecordedRequest) =>
  request.messages
    .filter((message) => message.role !== "system")
    .map((message) => message.text)
    .join("\n")
