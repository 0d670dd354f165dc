// npm run screenshots: pictures of the real terminal UI, made anew in assets/. Plain Node; the work is done under bun.
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { BUN, ensureTools, ROOT } from "./tools.mjs"

ensureTools()
const { build } = await import("./build.mjs")
await build()
const shot = spawnSync(BUN, ["screenshots.ts", join(ROOT, "assets")], {
  cwd: join(ROOT, "scripts/demo"),
  stdio: "inherit",
})
process.exitCode = shot.status ?? 1
