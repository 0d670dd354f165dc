import { isObject, unpacked } from "./loose.ts"
import type { Location } from "./task.ts"

const MAX_PATH = 1_000
const NUMBER = String.raw`-?\d{1,9}(?:e\d)?`
const RANGE = new RegExp(String.raw`^L?(${NUMBER})(?:\s*(?:-|–|—|to|\.\.+)\s*L?(${NUMBER}))?`, "i")
/** How a place is written behind a path: `:12`, `:12-20`, `:12:5`, `#L12-L20`, ` (line 12)`, `, lines 12-20`, `@12`. */
const TAIL = new RegExp(
  String.raw`(?:[:#@]\s*|\s*[,(]?\s*\b(?:at\s+)?lines?\s*:?\s*)(L?${NUMBER}(?:\s*(?:-|–|—|to|\.\.+)\s*L?${NUMBER})?)(?::\d+(?:-\d+)?)?(?:\s*,\s*\d+)*\s*\)?$`,
  "i",
)

/**
 * Reads a cited place in the notations that models use. A number that cannot be a line (0, -3) is kept as it is, so
 * that the check against the snapshot says "no such line" instead of forgetting that one was named.
 */
export function parseLocation(raw: unknown): Location | undefined {
  const value = unpacked(raw)
  if (typeof value === "string") return fromText(value)
  if (Array.isArray(value)) return value.length === 0 ? undefined : parseLocation(value[0])
  if (!isObject(value)) return undefined
  const path = [value["path"], value["file"], value["filename"], value["filePath"]].find(
    (one) => typeof one === "string",
  )
  if (typeof path !== "string") return undefined
  const inPath = fromText(path)
  if (!inPath) return undefined
  const line = lineOf(
    value["line"] ?? value["startLine"] ?? value["start_line"] ?? value["lineStart"] ?? value["lines"],
  )
  const endLine = lineOf(value["endLine"] ?? value["end_line"] ?? value["lineEnd"])
  return line ? place(inPath.path, line[0], endLine?.[0] ?? line[1]) : inPath
}

function fromText(text: string): Location | undefined {
  const first = text
    .split(/[;\n]|,\s+(?=\S*[./]\S*[:#])/)[0]
    ?.trim()
    .replace(/^[`'"(<[]+|[`'">\]]+$/g, "")
    .trim()
  if (!first) return undefined
  const tail = TAIL.exec(first)
  const head = tail ? first.slice(0, tail.index) : ""
  if (!tail || !tail[1] || head.trim() === "") return place(first)
  const range = RANGE.exec(tail[1])
  return range ? place(head, toNumber(range[1]), toNumber(range[2])) : place(first)
}

function lineOf(value: unknown): readonly [number, number | undefined] | undefined {
  if (typeof value === "number" && Number.isInteger(value)) return [value, undefined]
  if (Array.isArray(value)) {
    const start = lineOf(value[0])
    return start && [start[0], lineOf(value[1])?.[0]]
  }
  if (typeof value !== "string") return undefined
  const range = RANGE.exec(value.trim())
  const start = toNumber(range?.[1])
  return start === undefined ? undefined : [start, toNumber(range?.[2])]
}

function toNumber(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

function place(path: string, line?: number, endLine?: number): Location | undefined {
  const clean = path
    .trim()
    .replace(/^[`'"]+|[`'"]+$/g, "")
    .replace(/^\.\//, "")
    .slice(0, MAX_PATH)
  if (clean === "") return undefined
  return {
    path: clean,
    ...(line === undefined ? {} : { line }),
    ...(line !== undefined && endLine !== undefined && endLine > line ? { endLine } : {}),
  }
}
