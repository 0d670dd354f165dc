import { cut } from "./loose.ts"

/** What a command of a task says at this moment. */
export type Live = {
  readonly what: "checks" | "setup"
  /** What the command is called. */
  readonly name: string
  /** Which one of how many, from 1. */
  readonly index: number
  readonly of: number
  /** The last line that it wrote; empty as long as there is none. */
  readonly line: string
}

/** In words for a card's second line: `checks running 2/3 · test 41 of 90`. */
export function liveText({ what, name, index, of, line }: Live): string {
  const which = of > 1 ? ` ${index}/${of}` : ""
  return `${what === "checks" ? "checks running" : "setting up"}${which} · ${line === "" ? name : line}`
}

const LONGEST_LINE = 200
// eslint-disable-next-line no-control-regex -- colours, cursor moves and titles are what is looked for
const TERMINAL = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g
// eslint-disable-next-line no-control-regex -- and whatever else draws nothing
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g

/** The last line with something in it, as a person would see it: progress that overwrites itself shows its last state. */
export function lastLine(output: string): string {
  const lines = output
    .replace(TERMINAL, "")
    .replace(CONTROL, "")
    .split(/[\r\n]+/)
  const last = lines.findLast((line) => line.trim() !== "") ?? ""
  return cut(last.trim().replaceAll("\t", " "), LONGEST_LINE)
}
