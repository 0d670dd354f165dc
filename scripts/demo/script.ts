import { delay, text, toolCalls, type RecordedRequest, type Reply, type Script } from "../../test/kit/model.ts"
import { firstAddedLine } from "../../test/kit/model-script.ts"
import { GREET_BY_NAME } from "./sample.ts"

export interface Pace {
  /** How long the model "thinks" before each answer, so that a person can watch the states go by. */
  readonly thinkMs: number
  /** Waited for before each answer, so that a station is not passed before it was looked at. */
  readonly before?: (request: RecordedRequest) => Promise<void>
}

/** The model of the demo: it assesses, works and reviews like a quick, slightly careless colleague. */
export function demoScript(pace: Pace): Script {
  return async (request) => {
    await pace.before?.(request)
    const reply = answer(request)
    return pace.thinkMs > 0 ? delay(pace.thinkMs, reply) : reply
  }
}

function answer(request: RecordedRequest): Reply {
  switch (request.kind) {
    case "title":
      return text("A chat in the teahouse")
    case "plan":
      return text("This model is scripted and plans nothing: press n on the board to write a task.")
    case "intake":
      return request.toolResults.length > 0 ? text("Two decisions are open.") : intake(request)
    case "validator":
      return request.toolResults.length > 0 ? text("The review is written down.") : review(request)
    case "work":
      return work(request)
  }
}

/** What the reviewer finds in the first try; the agent that reads it tries again, and better. */
const CARELESS = "A guest with no name is welcomed as undefined"

const isGreeting = (request: RecordedRequest) => /greet/i.test(wholeText(request))

function intake(request: RecordedRequest): Reply {
  const greeting = isGreeting(request)
  return toolCalls({
    name: "kagan_intake",
    args: {
      understanding: greeting
        ? "greet() takes no argument today. It should take the guest's name and put it into the greeting."
        : "A small change is wanted; the scripted model of this demo writes a note for it.",
      decisions: greeting
        ? [
            {
              question: "What does a guest hear who gives no name?",
              assumption: "Nobody comes without a name, so nothing special is done.",
              required: true,
            },
            {
              question: "Is the name translated or shortened?",
              assumption: "No, it is used as given.",
              required: false,
            },
          ]
        : [{ question: "Where does the note belong?", assumption: "Into docs/notes.md.", required: true }],
      instruction: greeting
        ? "Let greet(name) in src/greet.js return the greeting with the guest's name."
        : "Write one line about the task into docs/notes.md.",
      mode: "autonomous",
      modeReason: "One function, with a test beside it.",
    },
  })
}

function work(request: RecordedRequest): Reply {
  if (!request.tools.includes("write")) return text("This model is scripted: take a card through the board instead.")
  const asked = request.messages.filter((message) => message.role === "user").length
  const turn = request.messages.slice(request.messages.findLastIndex((message) => message.role === "user"))
  const called = turn.flatMap((message) => message.toolCalls.map((call) => call.name))
  if (!isGreeting(request)) {
    if (called.includes("write")) return text("The note is written.")
    const content = Array.from({ length: asked }, (_, i) => `- Note ${i + 1}, written by the scripted model.\n`).join(
      "",
    )
    return toolCalls({ name: "write", args: { filePath: "docs/notes.md", content: `# Notes\n\n${content}` } })
  }
  if (!called.includes("read")) return toolCalls({ name: "read", args: { filePath: "src/greet.js" } })
  if (!called.includes("write")) {
    const again = wholeText(request).includes(CARELESS)
    return toolCalls({ name: "write", args: { filePath: "src/greet.js", content: GREET_BY_NAME[again ? 1 : 0] } })
  }
  return text("greet(name) now puts the guest's name into the greeting.")
}

function review(request: RecordedRequest): Reply {
  const prompt = wholeText(request)
  const added = firstAddedLine(prompt)
  const careless = prompt.includes("+  return `Welcome to the teahouse, ${name}`")
  const at = added ? { location: `${added.file}:${added.line}` } : {}
  return toolCalls({
    name: "kagan_findings",
    args: {
      summary: careless
        ? "The greeting has the name in it. A guest without a name is greeted as undefined."
        : "The change does what was agreed.",
      findings: careless
        ? [
            {
              kind: "bug",
              severity: "high",
              confidence: 9,
              title: CARELESS,
              detail: "greet() without an argument returns “Welcome to the teahouse, undefined”.",
              ...at,
            },
            {
              kind: "uncertainty",
              severity: "low",
              confidence: 5,
              title: "The test was not extended",
              detail: "test/greet.test.js still asks for the greeting without a name.",
              location: "test/greet.test.js:5",
            },
          ]
        : [],
    },
  })
}

const wholeText = (request: RecordedRequest) =>
  request.messages
    .filter((message) => message.role !== "system")
    .map((message) => message.text)
    .join("\n")
