// A vitest reporter that leaves the figures of a run in the file named by KAGAN_TEST_SUMMARY.
import { writeFileSync } from "node:fs"
import { relative } from "node:path"

/** @typedef {{ name: string, reason: string }} Skipped */
/** @typedef {{ passed: number, failed: number, failures: string[], broken: string[], skipped: Skipped[] }} Summary */

/** Enough of a message for a property's seed, path and counterexample. */
const MESSAGE_LIMIT = 1_500

export default class SummaryReporter {
  onTestRunEnd(modules, unhandledErrors) {
    /** @type {Summary} `broken` is what failed outside of any test. */
    const summary = { passed: 0, failed: 0, failures: [], broken: [], skipped: [] }
    for (const error of unhandledErrors) summary.broken.push(String(error.message))
    for (const module of modules) {
      const file = relative(process.cwd(), module.moduleId)
      for (const error of errorsOf(module)) summary.broken.push(`${file}: ${error.message}`)
      for (const test of module.children.allTests()) {
        const { state, note, errors = [] } = test.result()
        if (state === "passed") summary.passed++
        else if (state === "failed") {
          summary.failed++
          const why = errors.map((error) => error.message).join("; ")
          summary.failures.push(`${file}: ${test.fullName}: ${why.slice(0, MESSAGE_LIMIT)}`)
        } else if (state === "skipped") summary.skipped.push({ name: `${file}: ${test.fullName}`, reason: note ?? "" })
        // Its run was broken off.
        else summary.broken.push(`${file}: ${test.fullName} did not finish`)
      }
    }
    writeFileSync(process.env.KAGAN_TEST_SUMMARY, JSON.stringify(summary))
  }
}

/** Errors of a file and of its suites: imports and hooks that threw. */
function errorsOf(module) {
  return [...module.errors(), ...[...module.children.allSuites()].flatMap((suite) => suite.errors())]
}
