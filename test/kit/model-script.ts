import { text, toolCalls, type RecordedRequest, type Script } from "./model.ts"

/** Where the first added line of a diff stands. */
export interface DiffLine {
  readonly file: string
  readonly line: number
  readonly text: string
}

/**
 * A model with good manners, for tests and demonstrations that need a whole life of a card: it answers the intake with
 * one required decision, does the work by writing one file and stops, and reports one finding on a line of the diff
 * that it was shown.
 */
export function defaultKaganScript(options: { file?: (request: RecordedRequest) => string } = {}): Script {
  const fileOf = options.file ?? (() => "greeting.txt")
  return (request) => {
    switch (request.kind) {
      case "title":
        return text("A session")
      case "plan":
        return text("There is nothing to plan.")
      case "intake":
        if (request.toolResults.length > 0) return text("The assessment is recorded.")
        return toolCalls({
          name: "kagan_intake",
          args: {
            understanding: "A file with a greeting is wanted.",
            decisions: [
              { question: "Which file holds the greeting?", assumption: fileOf(request), required: true },
              { question: "In which language?", assumption: "English", required: false },
            ],
            instruction: `Write a greeting into ${fileOf(request)}.`,
            mode: "autonomous",
            modeReason: "Small, and easy to check.",
          },
        })
      case "validator": {
        if (request.toolResults.length > 0) return text("The findings are recorded.")
        const added = firstAddedLine(request.messages.map((message) => message.text).join("\n"))
        return toolCalls({
          name: "kagan_findings",
          args: {
            summary: "The change does what was asked.",
            findings: [
              {
                kind: "bug",
                severity: "medium",
                confidence: 8,
                title: "The greeting has no name in it",
                detail: "Whoever reads it is not addressed.",
                ...(added ? { location: `${added.file}:${added.line}` } : {}),
              },
            ],
          },
        })
      }
      case "work": {
        if (request.toolResults.length > 0) return text("Done.")
        const rounds = request.messages.filter((message) => message.role === "user").length
        const content = Array.from({ length: rounds }, (_, i) => `Hello, number ${i + 1}\n`).join("")
        if (request.tools.includes("write")) {
          return toolCalls({ name: "write", args: { filePath: fileOf(request), content } })
        }
        return text("Hello.")
      }
    }
  }
}

/** Finds the first added line in a unified diff that stands somewhere in a text. */
export function firstAddedLine(prompt: string): DiffLine | undefined {
  let file: string | undefined
  let line = 0
  for (const row of prompt.split("\n")) {
    const header = /^\+\+\+ (?:b\/)?(.+?)\s*$/.exec(row)
    const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@/.exec(row)
    if (header) {
      file = header[1] === "/dev/null" ? undefined : header[1]
      line = 0
    } else if (hunk) {
      line = Number(hunk[1])
    } else if (file && line > 0) {
      if (row.startsWith("+")) return { file, line, text: row.slice(1) }
      if (!row.startsWith("-")) line++
    }
  }
  return undefined
}
