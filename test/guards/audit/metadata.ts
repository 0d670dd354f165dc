import ts from "typescript"
import { collector, type Finding, type Report } from "./findings.ts"
import { walk, type Audited } from "./program.ts"
import { rawTypes, type Raw } from "./raw.ts"
import { reach } from "./reach.ts"

const host = "src/shared/host.ts"
const v1 = "@opencode-ai/sdk/dist/gen/sdk.gen.d.ts"
const v2 = "@opencode-ai/sdk/dist/v2/gen/sdk.gen.d.ts"

/** Our own door, and what it is taken from. */
export const metadataSinks: ReadonlySet<string> = new Set([`${host}#MetadataDoor.create`, `${host}#MetadataDoor.write`])
export const metadataEntrances: ReadonlySet<string> = new Set([`${host}#HostDoors.metadata`])

/** Calls of the host that store metadata when they are given some. */
export const storing: ReadonlySet<string> = new Set([
  `${v1}#Session.update`,
  `${v1}#Session.create`,
  `${v2}#Session2.update`,
  `${v2}#Session2.create`,
  `${v2}#Session3.create`,
])

/** A file that uses the door has one of these words; to hand it to one that has none is a finding where it is handed on. */
const mayHold = /\bmetadata\b|MetadataDoor|\bwrite\b|\bcreate\b/

/** Every hold of the door to metadata, and every call that could store some, in the files below `prefix`. */
export function auditMetadata(audited: Audited, prefix: string): Finding[] {
  const { report, findings } = collector(audited)
  const none: ReadonlySet<string> = new Set()
  const door = rawTypes(audited, { sinks: metadataSinks, gateways: none }, none)
  const calls = rawTypes(audited, { sinks: storing, gateways: none }, none)
  for (const file of audited.sources(prefix)) {
    if (mayHold.test(file.text))
      reach(audited, { raw: door, names: none, doubtful: none, entrances: metadataEntrances }, file, report)
    stored(audited, calls, file, report)
  }
  return findings
}

/** A call is harmless only if it stands there with an argument that certainly says nothing of metadata. */
function stored(audited: Audited, calls: Raw, file: ts.SourceFile, report: Report): void {
  const { checker } = audited
  const perhaps: Report = (_, symbol, node) => {
    const call = callOf(node)
    const [first] = call?.arguments ?? []
    if (call && (!first || saysNothing(checker, first))) return
    report("stores metadata", symbol, node)
  }
  const none: ReadonlySet<string> = new Set()
  reach(audited, { raw: calls, names: none, doubtful: none, entrances: none, readsOnly: true }, file, perhaps)
  walk(file, (node) => {
    if (ts.isStringLiteralLike(node) && node.text === "metadata" && ts.isComputedPropertyName(node.parent))
      report("stores metadata", "a computed key", node)
  })
}

function callOf(node: ts.Node): ts.CallExpression | undefined {
  let callee = node
  while (ts.isParenthesizedExpression(callee.parent) || ts.isNonNullExpression(callee.parent)) callee = callee.parent
  return ts.isCallExpression(callee.parent) && callee.parent.expression === callee ? callee.parent : undefined
}

function saysNothing(checker: ts.TypeChecker, argument: ts.Expression): boolean {
  if (!ts.isObjectLiteralExpression(argument)) return false
  const type = checker.getTypeAtLocation(argument)
  if (type.getProperty("metadata") || type.getStringIndexType()) return false
  const body = argument.properties.find((property) => property.name?.getText() === "body")
  if (!body) return !type.getProperty("body") && argument.properties.every((property) => isReadable(checker, property))
  return ts.isPropertyAssignment(body) && saysNothing(checker, body.initializer)
}

/** What is spread in, or named by a computed key, is known member by member. */
function isReadable(checker: ts.TypeChecker, property: ts.ObjectLiteralElementLike): boolean {
  if (property.name && ts.isComputedPropertyName(property.name))
    return checker.getTypeAtLocation(property.name.expression).isStringLiteral()
  if (!ts.isSpreadAssignment(property)) return true
  const type = checker.getTypeAtLocation(property.expression)
  return !(
    type.flags &
    (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive | ts.TypeFlags.TypeParameter)
  )
}
