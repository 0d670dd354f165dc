import type { Snippet } from "./snippet.ts"

/** Commands that something would take apart again, and those that nothing does. */
export const commandWays: readonly Snippet[] = [
  {
    name: "commands: exec and its relatives",
    code: `import { exec, execSync as run } from "node:child_process"
      import * as processes from "node:child_process"
      import { promisify } from "node:util"
      export const one = (title: string) => exec("echo " + title)
      export const two = () => run("ls")
      export const three = promisify(processes.exec)`,
    finds: ["shell text: child_process.exec ×2", "shell text: child_process.execSync"],
  },
  {
    name: "commands: the shell option",
    code: `import { execFile, spawn, type SpawnOptions } from "node:child_process"
      const options = { shell: true }
      export const one = (name: string) => spawn("ls", [name], { shell: true })
      export const two = (name: string) => execFile("ls", [name], options)
      export const three = (name: string) => spawn("ls", [name], { shell: "/bin/sh" })
      export const four = (name: string, more: SpawnOptions) => spawn("ls", [name], { ...more })`,
    finds: ["shell option: child_process.spawn ×3", "shell option: child_process.execFile"],
  },
  {
    name: "commands: template shells",
    code: `import { $ } from "bun"
      import { input } from "./given.ts"
      const { $: shell } = input
      export const one = (name: string) => $\`ls \${name}\`
      export const two = (name: string) => Bun.$\`ls \${name}\`
      export const three = (name: string) => input.$\`ls \${name}\`
      export const four = (name: string) => shell\`ls \${name}\``,
    finds: ["shell text: Bun.$ ×2", "shell text: PluginInput.$", "shell text: $"],
  },
  {
    name: "commands: a shell as program",
    code: `import { spawn } from "node:child_process"
      const line = (name: string) => ["-c", "ls " + name]
      export const one = (name: string) => spawn("sh", ["-c", \`ls \${name}\`])
      export const two = (text: string) => spawn("/bin/bash", ["-lc", text])
      export const three = (name: string) => spawn("sh", line(name))
      export const four = (text: string) => Bun.spawn(["node", "-e", text])
      export const five = (text: string) => Bun.spawnSync({ cmd: ["sh", "-c", text] })`,
    finds: ["text as program: sh ×2", "text as program: bash", "unread arguments: sh", "text as program: node"],
  },
  {
    name: "commands: whatever a variable says",
    code: `import { execFile, spawn } from "node:child_process"
      import { promisify } from "node:util"
      export const one = () => spawn(process.env.SHELL ?? "sh", [])
      export const two = (words: string[]) => Bun.spawn(words)
      export const three = (start = spawn) => start
      const run = promisify(execFile)
      export const four = (text: string) => run("sh", ["-c", text], { shell: true })
      export const five = [promisify(execFile)]`,
    finds: [
      "text as program: sh",
      "shell option: child_process.execFile",
      "handed on: child_process.execFile",
      "program not constant: child_process.spawn",
      "unread command: Bun.spawn",
      "handed on: child_process.spawn",
    ],
  },
  {
    name: "commands: other packages, and no types",
    code: `export const one = (load: { require: (name: string) => { exec(text: string): void } }) =>
        load.require("child_process").exec("ls")
      export { spawn } from "node:child_process"
      export const two = async () => {
        const { execSync } = await import("node:child_process")
        const processes = await import("node:child_process")
        return [execSync("ls"), processes["exec"]("ls")]
      }`,
    finds: [
      "handed on: child_process.*",
      "untyped: child_process",
      "shell text: child_process.execSync",
      "shell text: child_process.exec",
    ],
  },
  {
    name: "commands: lists of arguments",
    code: `import { execFile, execFileSync, spawn } from "node:child_process"
      import { promisify } from "node:util"
      const git = "git"
      export const one = (words: readonly string[]) => spawn(git, [...words], { shell: false })
      export const two = (pid: number) => execFileSync("ps", ["-o", "lstart=", "-p", String(pid)])
      export const three = (name: string) => spawn("sh", ["-c", 'exec "$@"', "sh", name])
      const run = promisify(execFile)
      export const four = (name: string) => run("ls", [name])
      export const found = /a(b)/.exec("ab")
      export const own = { exec: (text: string) => text }.exec("ls")`,
    finds: [],
  },
]
