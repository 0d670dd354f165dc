import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

/** How the registry answers from now on. */
export type RegistryMood = "well" | "slow" | "broken" | "corrupt"

export interface Registry {
  readonly url: string
  /** What npm reads to ask nobody else. */
  readonly env: Readonly<Record<string, string>>
  /** Paths that were asked for. */
  readonly asked: readonly string[]
  mood: RegistryMood
  /** Publishes a folder's content as a version of its package, which is then the latest. */
  publish(files: Readonly<Record<string, string>>): Promise<void>
  /** Publishes a tarball as it is. */
  publishTarball(path: string): Promise<void>
  dispose(): Promise<void>
}

type Version = { readonly manifest: Record<string, any>; readonly tarball: Buffer }

/** A registry of npm on loopback that knows what is published into it. `slow` gives no answer until `dispose`. */
export async function startRegistry(): Promise<Registry> {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), "kagan-registry-")))
  const versions = new Map<string, Version>()
  const asked: string[] = []
  const held: (() => void)[] = []
  let url = ""

  const server = createServer((request, response) => {
    const path = decodeURIComponent(request.url ?? "")
    asked.push(path)
    if (registry.mood === "slow") return void held.push(() => response.destroy())
    if (registry.mood === "broken") return void response.writeHead(200).end("<html>proxy</html>")
    const file = /\/-\/(.+)\.tgz$/.exec(path)?.[1]
    const found = file === undefined ? undefined : [...versions.values()].find((one) => fileOf(one.manifest) === file)
    if (found) {
      const spoiled = registry.mood === "corrupt" ? Buffer.concat([found.tarball, Buffer.from("x")]) : found.tarball
      return void response.writeHead(200, { "content-type": "application/octet-stream" }).end(spoiled)
    }
    const name = path.slice(1)
    const own = [...versions.values()].filter(({ manifest }) => manifest.name === name)
    if (own.length === 0) return void response.writeHead(404).end("{}")
    const latest = own.at(-1)!.manifest.version
    const all = Object.fromEntries(own.map(({ manifest, tarball }) => [manifest.version, withDist(manifest, tarball)]))
    const body = { name, "dist-tags": { latest }, versions: all }
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body))
  })

  const fileOf = (manifest: Record<string, any>) => `${manifest.name}-${manifest.version}`
  const withDist = (manifest: Record<string, any>, tarball: Buffer) => ({
    ...manifest,
    dist: {
      tarball: `${url}/${manifest.name}/-/${fileOf(manifest)}.tgz`,
      integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}`,
      shasum: createHash("sha1").update(tarball).digest("hex"),
    },
  })

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await mkdir(join(scratch, "cache"))

  async function publishTarball(path: string) {
    const manifest = JSON.parse(execFileSync("tar", ["-xzOf", path, "package/package.json"], { encoding: "utf8" }))
    versions.set(fileOf(manifest), { manifest, tarball: await readFile(path) })
  }

  const registry: Registry = {
    url,
    env: {
      npm_config_registry: url,
      npm_config_cache: join(scratch, "cache"),
      npm_config_userconfig: join(scratch, "npmrc"),
      npm_config_globalconfig: join(scratch, "globalrc"),
      npm_config_fetch_retries: "0",
      npm_config_offline: "false",
      npm_config_prefer_online: "true",
    },
    asked,
    mood: "well",
    async publish(files) {
      const folder = await mkdtemp(join(scratch, "pack-"))
      for (const [path, text] of Object.entries(files)) {
        const file = join(folder, "package", path)
        await mkdir(dirname(file), { recursive: true })
        await writeFile(file, text)
      }
      const path = join(folder, "package.tgz")
      execFileSync("tar", ["-czf", path, "-C", folder, "package"])
      await publishTarball(path)
    },
    publishTarball,
    async dispose() {
      for (const drop of held) drop()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await rm(scratch, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  return registry
}
