import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, stat } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { isObject } from "../core/loose.ts"
import { err, ok, type Result } from "../core/result.ts"

/*
 * The person's own npm: their registry, proxy and credentials are its business. No script of a package is ever run.
 */

export type Npm = {
  /** What the registry says of the newest version. */
  newest(name: string): Promise<Result<unknown, string>>
  /** Installs a version into a folder of its own and looks whether it is whole; nothing of it is kept. */
  tryOut(name: string, version: string): Promise<Result<void, string>>
}

export type NpmLimits = { readonly viewMs: number; readonly installMs: number }
const LIMITS: NpmLimits = { viewMs: 20_000, installMs: 100_000 }

export function personsNpm(env: () => NodeJS.ProcessEnv, limits: NpmLimits = LIMITS): Npm {
  function npm(args: readonly string[], timeout: number): Promise<Result<string, string>> {
    return new Promise((resolve) => {
      const program = process.platform === "win32" ? "npm.cmd" : "npm"
      const options = { cwd: homedir(), env: env(), timeout, killSignal: "SIGKILL", maxBuffer: 8 * 1024 ** 2 } as const
      execFile(
        program,
        [...args, "--no-audit", "--no-fund", "--no-update-notifier"],
        options,
        (failure, stdout, stderr) => {
          if (!failure) return resolve(ok(stdout))
          if (failure.killed) return resolve(err(`npm gave no answer within ${timeout / 1000} s`))
          if ((failure as NodeJS.ErrnoException).code === "ENOENT") return resolve(err("npm is not installed"))
          resolve(err(reasonIn(`${stderr}\n${stdout}`) ?? failure.message.split("\n")[0]!))
        },
      )
    })
  }

  return {
    async newest(name) {
      const said = await npm(["view", `${name}@latest`, "version", "engines", "--json"], limits.viewMs)
      if (!said.ok) return said
      try {
        return ok(JSON.parse(said.value) as unknown)
      } catch {
        return err("the registry's answer could not be read")
      }
    },

    async tryOut(name, version) {
      const folder = await mkdtemp(join(tmpdir(), "kagan-update-"))
      try {
        const wanted = `${name}@${version}`
        const done = await npm(
          ["install", "--prefix", folder, "--ignore-scripts", "--no-save", wanted],
          limits.installMs,
        )
        if (!done.ok) return done
        return await isWhole(join(folder, "node_modules", name), version)
      } finally {
        await rm(folder, { recursive: true, force: true, maxRetries: 3 })
      }
    },
  }
}

/** npm's own words for what went wrong, without its decoration. */
function reasonIn(output: string): string | undefined {
  const lines = output
    .split("\n")
    .flatMap((line) => /^npm (?:ERR!|error) (?!code |A complete log)(.+)$/.exec(line)?.[1] ?? [])
  const code = /npm (?:ERR!|error) code (\w+)/.exec(output)?.[1]
  const words = lines.find((line) => line.trim() !== "")
  return words === undefined ? undefined : code ? `${code}: ${words.trim()}` : words.trim()
}

async function isWhole(folder: string, version: string): Promise<Result<void, string>> {
  try {
    const manifest: unknown = JSON.parse(await readFile(join(folder, "package.json"), "utf8"))
    if (!isObject(manifest) || manifest["version"] !== version) return err(`it is not version ${version}`)
    for (const half of ["./server", "./tui"]) {
      const target = isObject(manifest["exports"]) ? manifest["exports"][half] : undefined
      if (typeof target !== "string") return err(`the package has no ${half.slice(2)} half`)
      if ((await stat(join(folder, target))).size === 0) return err(`${target} is empty`)
    }
    return ok()
  } catch (cause) {
    return err(`the package is not whole: ${cause instanceof Error ? cause.message : String(cause)}`)
  }
}
