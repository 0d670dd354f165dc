import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { appendFile, chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import type { Sandbox } from "./sandbox.ts"

/**
 * Crashes from outside: a process is killed when it (or a child of it) has come to the n-th git call, or when the n-th
 * file of a kind has been written. For the n-th model request see `Model.at`. There are no fail points in the product.
 */
export interface GitTrap {
  /** Which call after this moment, from 1, of those whose command line contains `match`. */
  readonly at: number
  readonly pid: number
  readonly match?: string
  /** Before git has done anything (the default), or when it is through. */
  readonly when?: "before" | "after"
}

export interface CountingGit {
  /** Arguments of every git call so far, in order. */
  calls(): Promise<string[][]>
  /** Sets the trap; an earlier one is gone. */
  arm(trap: GitTrap): Promise<void>
  disarm(): Promise<void>
  /** Whether the trap has sprung. */
  fired(): Promise<boolean>
}

/**
 * Puts a git first on the PATH of a sandbox that notes each call, kills as asked, and otherwise is the real one. For
 * hosts that are started afterwards.
 */
export async function countingGit(sandbox: Sandbox): Promise<CountingGit> {
  const folder = join(sandbox.root, "counting-git")
  const bin = join(folder, "bin")
  await mkdir(bin, { recursive: true })
  const real = execFileSync("/bin/sh", ["-c", "command -v git"], { env: sandbox.env, encoding: "utf8" }).trim()
  const log = join(folder, "calls")
  await appendFile(log, "")
  await writeFile(join(bin, "git"), wrapper(real, folder))
  await chmod(join(bin, "git"), 0o755)
  sandbox.env["PATH"] = `${bin}:${sandbox.env["PATH"] ?? ""}`

  let traps = 0
  return {
    async calls() {
      const records = (await readFile(log, "utf8")).split("\x1e").slice(0, -1)
      return records.map((record) => record.split("\x1f").slice(0, -1))
    },
    async arm({ at, pid, match = "", when = "before" }) {
      // Each trap counts in a folder of its own, so that calls which an earlier one counted do not matter.
      const own = join(folder, `trap-${++traps}`)
      await mkdir(own)
      await writeFile(join(own, "match"), match)
      await writeFile(join(folder, "trap"), `${own}\n${at}\n${pid}\n${when}\n`)
    },
    disarm: () => writeFile(join(folder, "trap"), ""),
    async fired() {
      return (await readFile(join(folder, "fired"), "utf8").catch(() => "")).includes(`trap-${traps}\n`)
    },
  }
}

/** A call takes its number by creating the first free folder, which only one of several at once can do. */
function wrapper(real: string, folder: string): string {
  return `#!/bin/sh
{ printf '%s\\037' "$@"; printf '\\036'; } >> '${folder}/calls'
mine=
{ read -r own; read -r at; read -r pid; read -r when; } < '${folder}/trap' 2>/dev/null
if [ -n "$own" ] && [ -d "$own" ]; then
  match=$(cat "$own/match")
  case "$*" in
    *"$match"*)
      n=1
      while ! mkdir "$own/$n" 2>/dev/null; do n=$((n + 1)); done
      [ "$n" -eq "$at" ] && mine=1 ;;
  esac
fi
spring() { printf '%s\\n' "\${own##*/}" >> '${folder}/fired'; kill -KILL "$pid"; }
if [ -n "$mine" ] && [ "$when" = before ]; then spring; exit 137; fi
if [ -z "$mine" ]; then exec '${real}' "$@"; fi
'${real}' "$@"
code=$?
spring
exit $code
`
}

export interface WriteTrap {
  /** Whether the trap has sprung. */
  fired(): boolean
  close(): Promise<void>
}

/**
 * Kills `pid` when the n-th file whose name matches has been put in place (renamed to its name) in a folder that exists.
 * The watching is done by node: bun's own watcher (1.3.14) reports only some of several changes that come together.
 */
export async function killAtWrite(options: {
  folder: string
  match: RegExp
  /** Only writes whose content matches are counted. */
  text?: RegExp
  at: number
  pid: number
}): Promise<WriteTrap> {
  const { match, text } = options
  const settings = JSON.stringify({ ...options, match: match.source, flags: match.flags, text: text?.source ?? "" })
  const watcher = spawn("node", ["-e", WATCHER, settings], { stdio: ["pipe", "pipe", "inherit"] })
  const gone = once(watcher, "exit")
  let output = ""
  await new Promise<void>((resolve, reject) => {
    void gone.then(([code]) => reject(new Error(`the watcher ended (${code})`)))
    watcher.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString("utf8")
      resolve()
    })
  })
  return {
    fired: () => output.includes("fired"),
    async close() {
      watcher.stdin.end()
      await gone
    },
  }
}

/** Ends when its standard input does, also with whoever started it. */
const WATCHER = `
const { existsSync, readFileSync, watch } = require("node:fs")
const { folder, match, flags, text, at, pid } = JSON.parse(process.argv[1])
let writes = 0
watch(folder, (what, name) => {
  if (what !== "rename" || !new RegExp(match, flags).test(name) || !existsSync(folder + "/" + name)) return
  if (!new RegExp(text).test(readFileSync(folder + "/" + name, "utf8"))) return
  if (++writes !== at) return
  process.kill(pid, "SIGKILL")
  console.log("fired")
})
process.stdin.on("end", () => process.exit()).resume()
console.log("ready")
`
