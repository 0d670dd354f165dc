// npm run bench -- <part> [--json]: measures one part and prints a table, or one JSON object a line.
// Plain Node; installs what is missing. A part is a file in scripts/bench that runs under bun. It ends with 0 also when
// a figure is over its budget: the figure is the point. Anything else means that it could not measure.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { BUN, ensureTools, ROOT } from "./tools.mjs"

const folder = join(ROOT, "scripts/bench")
const parts = readdirSync(folder)
  .filter((name) => name.endsWith(".ts") && name !== "report.ts")
  .map((name) => name.slice(0, -3))
const [part, ...rest] = process.argv.slice(2)

if (!part || !/^[a-z-]+$/.test(part) || !existsSync(join(folder, `${part}.ts`)) || part === "report") {
  console.error(`npm run bench -- <part> [--json]; there are: ${parts.join(", ")}`)
  process.exit(2)
}
ensureTools()
const run = spawnSync(BUN, [`${part}.ts`, ...rest], { cwd: folder, stdio: "inherit" })
process.exit(run.status ?? 1)
