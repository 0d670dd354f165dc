import { globSync, readFileSync } from "node:fs"
import path from "node:path"
import ts from "typescript"

export type Audited = {
  readonly root: string
  readonly program: ts.Program
  readonly checker: ts.TypeChecker
  /** Files of the program whose path from the root starts with `prefix`, declarations left out. */
  sources(prefix: string): ts.SourceFile[]
  /** The file can hold a typed object of the host: it imports, at whatever distance, what declares one. */
  reachesHost(file: ts.SourceFile): boolean
  /** Path from the root, with `/` on every system. */
  name(file: ts.SourceFile): string
}

const root = path.resolve(import.meta.dirname, "../../..")

/** Brings the host's declarations into the program, whether or not `src` names them by now. */
const anchor = `import type {} from "@opencode-ai/sdk"
import type {} from "@opencode-ai/sdk/v2"
import type {} from "@opencode-ai/plugin"
import type {} from "@opencode-ai/plugin/tui"
import type {} from "./src/shared/host.ts"
`

/**
 * The whole of `src` with types. `overlay` adds files, or replaces what stands on disk, by path from the root:
 * that is how a snippet, or a change nobody has made, is judged in the real program.
 */
export function auditedProgram(overlay: Readonly<Record<string, string>> = {}, previous?: Audited): Audited {
  const configFile = path.join(root, "tsconfig.json")
  const config = ts.readConfigFile(configFile, ts.sys.readFile)
  const options = ts.parseJsonConfigFileContent(config.config, ts.sys, root).options
  const files = { "audit-anchor.ts": anchor, ...overlay }
  const texts = new Map(Object.entries(files).map(([name, text]) => [path.join(root, name), text]))
  const host = ts.createCompilerHost(options)
  const onDisk = { fileExists: host.fileExists, getSourceFile: host.getSourceFile }
  const folders = new Set([...texts.keys()].map((name) => path.dirname(name)))
  const known = new Map(previous?.program.getSourceFiles().map((file) => [file.fileName, file]))
  host.fileExists = (name) => texts.has(name) || onDisk.fileExists(name)
  host.directoryExists = (name) => folders.has(name) || ts.sys.directoryExists(name)
  host.readFile = (name) => texts.get(name) ?? ts.sys.readFile(name)
  host.getSourceFile = (name, ...rest) => {
    const text = texts.get(name)
    const seen = known.get(name)
    if (seen && (text === undefined ? name.includes("/node_modules/") : text === seen.text)) return seen
    if (text === undefined) return onDisk.getSourceFile(name, ...rest)
    return ts.createSourceFile(name, text, rest[0])
  }
  const onDiskNames = globSync("src/**/*.{ts,tsx}", { cwd: root }).map((name) => path.join(root, name))
  const rootNames = [...new Set([...onDiskNames, ...texts.keys()])]
  const program = ts.createProgram({ rootNames, options, host, oldProgram: previous?.program })
  const name = (file: ts.SourceFile) => path.relative(root, file.fileName).split(path.sep).join("/")
  const checker = program.getTypeChecker()
  const targets = new Map<ts.SourceFile, readonly (ts.SourceFile | undefined)[]>()
  const targetsOf = (file: ts.SourceFile) => {
    const done = targets.get(file)
    if (done) return done
    const found = importsOf(file).map((one) => checker.getSymbolAtLocation(one)?.declarations?.[0]?.getSourceFile())
    targets.set(file, found)
    return found
  }
  function reachesHost(file: ts.SourceFile): boolean {
    const seen = new Set([file])
    for (const one of seen)
      for (const target of targetsOf(one)) {
        if (!target || target.fileName.includes("/node_modules/@opencode-ai/")) return true
        if (!target.fileName.includes("/node_modules/")) seen.add(target)
      }
    return false
  }
  return {
    root,
    program,
    reachesHost,
    checker,
    name,
    sources: (prefix) =>
      program.getSourceFiles().filter((file) => !file.isDeclarationFile && name(file).startsWith(prefix)),
  }
}

/** Every module specifier of the file, those of late imports and of types included. */
function importsOf(file: ts.SourceFile): ts.Expression[] {
  const found: ts.Expression[] = []
  walk(file, (node) => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier)
      found.push(node.moduleSpecifier)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      found.push(node.argument.literal as ts.LiteralExpression)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const [first] = node.arguments
      if (first) found.push(first)
    }
  })
  return found
}

/** Text of a file of the repository. */
export function readSource(name: string): string {
  return readFileSync(path.join(root, name), "utf8")
}

/** Where a declaration stands: `file#Container.member`, packages named without their folder. */
export function placeOf(declaration: ts.Node): string | undefined {
  const name = (declaration as { name?: ts.Node }).name
  if (!name || !(ts.isIdentifier(name) || ts.isStringLiteral(name) || ts.isPrivateIdentifier(name))) return undefined
  const file = declaration.getSourceFile().fileName
  const packaged = file.lastIndexOf("/node_modules/")
  const short = packaged < 0 ? path.relative(root, file).split(path.sep).join("/") : file.slice(packaged + 14)
  for (let node = declaration.parent; node; node = node.parent) {
    const named =
      ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)
        ? node.name?.text
        : undefined
    if (named) return `${short}#${named}.${name.text}`
    if (ts.isFunctionLike(node) || ts.isVariableDeclaration(node)) return undefined
  }
  return `${short}#${name.text}`
}

/** Every node below `node`, in the order of the text. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  ts.forEachChild(node, (child) => {
    visit(child)
    walk(child, visit)
  })
}
