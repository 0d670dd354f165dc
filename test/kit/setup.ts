import { afterEach } from "vitest"
import { allEvidence } from "./failures.ts"

// Times on the screen are the person's; frames are compared in one zone.
process.env.TZ = "UTC"

// A failed test says what its hosts and terminals had to say.
afterEach((context) => {
  if (context.task.result?.state !== "fail") return
  const evidence = allEvidence()
  if (evidence) process.stderr.write(`\n════ ${context.task.name}\n${evidence}\n════\n`)
})
