import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"

/** The root of this checkout. */
export const root = fileURLToPath(new URL("../..", import.meta.url))

export interface Source {
  /** Path from the root, with forward slashes. */
  readonly path: string
  readonly tree: ts.SourceFile
}

/** Parses one file; `text` may be anything, so that a guard can be shown what it must refuse. */
export function parse(path: string, text: string): Source {
  const kind = path.endsWith(".tsx") ? ts.ScriptKind.TSX : path.endsWith(".mjs") ? ts.ScriptKind.JS : ts.ScriptKind.TS
  return { path, tree: ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind) }
}

/** Every TypeScript file of a folder. */
export function sourcesOf(folder: string): Source[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .map((name) => posix.join(folder, name.replaceAll("\\", "/")))
    .filter((path) => /\.tsx?$/.test(path))
    .toSorted()
    .map((path) => parse(path, readFileSync(join(root, path), "utf8")))
}

/** Files that git knows or would add. */
export function trackedFiles(): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "-z"]
  return execFileSync("git", args, { cwd: root, encoding: "utf8" }).split("\0").filter(Boolean)
}

export interface Import {
  /** What is imported, or undefined where that cannot be read from the source. */
  readonly from: string | undefined
  readonly line: number
}

/** All ways in which a file names another module: static, re-exported, dynamic, required, or in a type. */
export function importsOf(source: Source): Import[] {
  const found: Import[] = []
  visit(source.tree, (node) => {
    const name = moduleNameOf(node)
    if (name) found.push({ from: ts.isStringLiteralLike(name) ? name.text : undefined, line: lineOf(source, node) })
  })
  return found
}

function moduleNameOf(node: ts.Node): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier
  if (ts.isExternalModuleReference(node)) return node.expression
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument
  if (ts.isCallExpression(node)) {
    const called = node.expression
    const loads = called.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(called) && called.text === "require")
    if (loads) return node.arguments[0] ?? node
  }
  return undefined
}

export function visit(node: ts.Node, see: (node: ts.Node) => void): void {
  see(node)
  node.forEachChild((child) => visit(child, see))
}

export function lineOf(source: Source, node: ts.Node): number {
  return source.tree.getLineAndCharacterOfPosition(node.getStart(source.tree)).line + 1
}

/** Where a relative import leads, from the root; undefined for packages. */
export function resolveImport(importer: string, from: string): string | undefined {
  return from.startsWith(".") ? posix.normalize(posix.join(posix.dirname(importer), from)) : undefined
}

/** The dotted name of an access such as `client.session.update` or `client["session"]?.update`; `?` where it is computed. */
export function dottedName(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text
  if (node.kind === ts.SyntaxKind.ThisKeyword) return "this"
  if (ts.isPropertyAccessExpression(node)) return `${dottedName(node.expression)}.${node.name.text}`
  if (ts.isElementAccessExpression(node)) {
    const key = node.argumentExpression
    return `${dottedName(node.expression)}.${ts.isStringLiteralLike(key) ? key.text : "?"}`
  }
  if (ts.isNonNullExpression(node) || ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) {
    return dottedName(node.expression)
  }
  return "?"
}
