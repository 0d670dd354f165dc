import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { startServer } from "../../test/kit/host.ts"
import { startModel, text } from "../../test/kit/model.ts"
import { makeSandbox, type Sandbox } from "../../test/kit/sandbox.ts"
import { startTui } from "../../test/kit/terminal.ts"
import { median, report, timed, type Figure } from "./report.ts"

/*
 * What Kagan adds to the start of the host: the same host, once with Kagan and once with a plugin that does nothing, to
 * the first answer of the server in a directory (its plugins are loaded then), and to the prompt of the terminal UI.
 */

const ROUNDS = 5
const BUDGET = 1.05

/** A plugin with two halves that do nothing. */
async function emptyPlugin(box: Sandbox): Promise<string> {
  const folder = join(box.root, "empty")
  await mkdir(folder)
  const exports = { "./server": "./server.js", "./tui": "./tui.js" }
  const manifest = { name: "empty-plugin", version: "0.0.1", type: "module", exports }
  await writeFile(join(folder, "package.json"), JSON.stringify(manifest))
  await writeFile(join(folder, "server.js"), 'export default { id: "empty", server: async () => ({}) }\n')
  await writeFile(join(folder, "tui.js"), 'export default { id: "empty", tui: async () => {} }\n')
  return pathToFileURL(folder).href
}

async function startOfServer(box: Sandbox): Promise<number> {
  let server: Awaited<ReturnType<typeof startServer>> | undefined
  const took = await timed(async () => {
    server = await startServer(box)
    await server.client.session.list()
  })
  await server?.stop()
  return took
}

async function startOfTui(box: Sandbox): Promise<number> {
  let tui: Awaited<ReturnType<typeof startTui>> | undefined
  const took = await timed(async () => {
    tui = await startTui(box)
    await tui.waitFor("ctrl+p")
  })
  await tui?.stop()
  return took
}

/** Alternating, so that both see the same load; the first of each is not counted. */
async function compare(what: string, start: (box: Sandbox) => Promise<number>, ours: Sandbox, empty: Sandbox) {
  const [withKagan, without]: [number[], number[]] = [[], []]
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = [await start(ours), await start(empty)] as const
    if (round === 0) continue
    withKagan.push(pair[0])
    without.push(pair[1])
  }
  const [a, b] = [median(withKagan), median(without)]
  return [
    { name: `${what} with an empty plugin`, value: b, unit: "ms" },
    { name: `${what} with Kagan`, value: a, unit: "ms" },
    { name: `${what}: Kagan over empty`, value: a / b, unit: "×", budget: BUDGET },
  ] satisfies Figure[]
}

const model = await startModel(() => text("Hello."))
const ours = await makeSandbox({ model })
const empty = await makeSandbox({ model, plugin: false })
try {
  await empty.writeConfig({ plugin: await emptyPlugin(empty) })
  report([
    ...(await compare("server to first answer", startOfServer, ours, empty)),
    ...(await compare("terminal UI to prompt", startOfTui, ours, empty)),
  ])
} finally {
  await ours.dispose()
  await empty.dispose()
  await model.dispose()
}
