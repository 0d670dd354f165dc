import { playHeadless } from "./headless.ts"
import { playInteractive } from "./interactive.ts"
import { setStage } from "./stage.ts"

const headless = process.argv[2] === "--headless"
const stage = await setStage({ thinkMs: headless ? 0 : 1200 })

for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const) {
  process.on(signal, () => {
    void stage.clear().finally(() => process.exit(code))
  })
}

let code = 1
try {
  code = headless ? await playHeadless(stage) : await playInteractive(stage)
} finally {
  await stage.clear()
}
process.exit(code)
