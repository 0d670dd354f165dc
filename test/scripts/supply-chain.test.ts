import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { judgeAudit } from "../kit/audit.ts"
import { checkout } from "../kit/sandbox.ts"

const read = (path: string) => JSON.parse(readFileSync(join(checkout, path), "utf8"))
const manifest = read("package.json")
const lock = read("package-lock.json")

/** Development tools that run something at their installation; each was looked at. */
const INSTALL_SCRIPTS = [
  "bun", // fetches its own binary
  "fsevents", // macOS only
  "msgpackr-extract", // optional speed-up, built or left away
  "opencode-ai", // links its own binary
]

/** What the host provides at run time. */
const PROVIDED = /^(node:|solid-js|@opentui\/|@opencode-ai\/|bun$)/

describe("supply chain", () => {
  test("nothing is installed with the package, and nothing of it runs at installation", () => {
    for (const kind of ["dependencies", "optionalDependencies", "peerDependencies", "bundledDependencies"]) {
      expect(manifest[kind], kind).toBeUndefined()
    }
    const hooks = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare", "postprepare"]
    expect(Object.keys(manifest.scripts).filter((name) => hooks.includes(name))).toEqual([])
  })

  test("every development dependency is pinned exactly, and the lock file says the same", () => {
    for (const [name, version] of Object.entries<string>(manifest.devDependencies)) {
      expect(version, name).toMatch(/^\d+\.\d+\.\d+(-[\w.]+)?$/)
      expect(lock.packages[`node_modules/${name}`]?.version, name).toBe(version)
    }
    expect(lock.packages[""].devDependencies).toEqual(manifest.devDependencies)
  })

  test("the lock file names no address, and of whatever runs something at installation every one is known", () => {
    const packages = Object.entries<Record<string, unknown>>(lock.packages).filter(([path]) => path !== "")
    expect(packages.filter(([, one]) => one["resolved"] !== undefined).map(([path]) => path)).toEqual([])
    const running = packages
      .filter(([, one]) => one["hasInstallScript"])
      .map(([path]) => path.split("node_modules/").at(-1))
    expect(running.filter((name) => !INSTALL_SCRIPTS.includes(name!))).toEqual([])
  })

  test("what is bundled stands in docs/security.md with the licence that it has", () => {
    const sources = readdirSync(join(checkout, "src"), { recursive: true, encoding: "utf8" })
      .filter((path) => /\.tsx?$/.test(path))
      .map((path) => readFileSync(join(checkout, "src", path), "utf8"))
    const imported = sources.flatMap((text) =>
      [...text.matchAll(/^(?:import|export|\}) .*?from "([^."][^"]*)"$/gm)].map(([, name]) => name!),
    )
    const bundled = [...new Set(imported.filter((name) => !PROVIDED.test(name)).map((name) => name.split("/")[0]!))]
    const licences = bundled.map((name) => `${name}, ${read(`node_modules/${name}/package.json`).license}`).toSorted()
    const section = readFileSync(join(checkout, "docs/security.md"), "utf8").split("## Supply chain")[1]!
    const listed = [...section.matchAll(/^\| ([\w@/-]+) \| ([\w.-]+) \|/gm)]
      .slice(1)
      .map(([, name, licence]) => `${name}, ${licence}`)
    expect(listed.toSorted()).toEqual(licences)
    for (const licence of licences) expect(licence).toMatch(/, (MIT|ISC|Apache-2\.0|BSD-[23]-Clause)$/)
  })
})

describe("the judgement of an audit", () => {
  const via = [{ url: "https://github.com/advisories/GHSA-aaaa-bbbb-cccc", title: "Bad", severity: "high" }, "other"]
  const report = JSON.stringify({ auditReportVersion: 2, vulnerabilities: { lib: { via }, top: { via: ["lib"] } } })
  const review = { advisory: "GHSA-aaaa-bbbb-cccc", package: "lib", reason: "only in tests" }

  test("names what nobody reviewed, accepts what somebody did, and names reviews of what is gone", () => {
    expect(judgeAudit(report, [])).toEqual({
      kind: "judged",
      open: ["GHSA-aaaa-bbbb-cccc lib (high): Bad"],
      stale: [],
    })
    expect(judgeAudit(`npm warn something\n${report}`, [review])).toEqual({ kind: "judged", open: [], stale: [] })
    const clean = JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })
    expect(judgeAudit(clean, [review])).toEqual({ kind: "judged", open: [], stale: ["GHSA-aaaa-bbbb-cccc lib"] })
  })

  test.each([
    "",
    "npm error network",
    '{"message": "405 Method Not Allowed"}',
    '{"error": {"summary": "ENOTFOUND"}}',
    "{",
  ])("without an answer nothing is judged, and it is said why: %j", (printed) => {
    const verdict = judgeAudit(printed, [])
    expect(verdict.kind).toBe("unasked")
    expect((verdict as { reason: string }).reason).toMatch(/\w/)
  })
})
