import { beforeAll, describe, expect, test, vi } from "vitest"
import { judge, type Allowed } from "./audit/findings.ts"
import { auditMetadata, metadataEntrances, metadataSinks, storing } from "./audit/metadata.ts"
import { auditedProgram, type Audited } from "./audit/program.ts"
import { metadataWays } from "./audit/snippets/metadata.ts"
import { checkSnippet, snippetFiles } from "./audit/snippets/snippet.ts"
import { missingPlaces } from "./audit/drift.ts"

const host = "src/shared/host.ts"
const tasks = "src/shared/tasks.ts"

/** The host's update replaces the whole object: one writer, or the others' keys are lost. */
const doors: readonly Allowed[] = [
  {
    rule: "raw type",
    symbol: "MetadataDoor",
    file: host,
    count: 2,
    reason: "declares the door, and builds it over the host's client",
  },
  { rule: "stores metadata", symbol: "Session2.create", file: host, count: 1, reason: "the door's own create" },
  { rule: "stores metadata", symbol: "Session2.update", file: host, count: 1, reason: "the door's own write" },
  {
    rule: "entrance",
    symbol: "HostDoors.metadata",
    file: "src/server/supervision.ts",
    count: 1,
    reason: "hands the door to the one writer",
  },
  { rule: "raw type", symbol: "MetadataDoor", file: tasks, count: 1, reason: "the one writer is given the door" },
  {
    rule: "sink",
    symbol: "MetadataDoor.create",
    file: tasks,
    count: 1,
    reason: "the one place that makes our sessions",
  },
  { rule: "sink", symbol: "MetadataDoor.write", file: tasks, count: 1, reason: "the one write, under the lock" },
]

let audited: Audited

/** The whole program is checked once; a crowded machine may take its time. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

beforeAll(() => {
  audited = auditedProgram(snippetFiles(metadataWays))
})

test("only the one writer of metadata holds the door to it", () => {
  expect(judge(auditMetadata(audited, "src/"), doors)).toEqual([])
})

test("every call that stores metadata is one of the installed host", () => {
  expect(missingPlaces(audited, new Set([...storing, ...metadataSinks, ...metadataEntrances]))).toEqual([])
})

describe("every form is seen for what it is", () => {
  test.each(metadataWays)("$name", (snippet) => checkSnippet(audited, snippet, auditMetadata))
})
