import path from "node:path"
import ts from "typescript"
import { constantText, initializerOf } from "./constants.ts"
import { collector, type Finding, type Report } from "./findings.ts"
import { walk, type Audited } from "./program.ts"

const starters = new Set(["spawn", "spawnSync", "execFile", "execFileSync", "fork"])
const shells = /^(?:sh|bash|zsh|dash|ksh|fish|cmd|cmd\.exe|powershell|powershell\.exe|pwsh)$/
const interpreters = /^(?:node|bun|deno|python3?|perl|ruby|env|xargs)$/
const takesText = /^(?:-\w*c\w*|-e|-p|--eval|--print|\/[cCkK]|-[Cc]ommand)$/
const modules = /^(?:node:)?child_process$|^bun$/
const packages = /^(?:execa|cross-spawn|shelljs|zx|node-pty|bun-pty|tinyexec)(?:\/|$)/

/** Something of this stands in every file that gets hold of what starts programs: handing it on is a finding itself. */
const starts = /child_process|\b[bB]un\b|[.{,\s]\$(?!\{)|execa|cross-spawn|shelljs|\bzx\b|pty|tinyexec/

/** Every command of the files below `prefix` whose words a shell, or another interpreter, would take apart. */
export function auditCommands(audited: Audited, prefix: string): Finding[] {
  const { report, findings } = collector(audited)
  for (const file of audited.sources(prefix)) if (starts.test(file.text)) commandsOf(audited, file, report)
  return findings
}

function commandsOf({ checker }: Audited, file: ts.SourceFile, report: Report): void {
  /** `child_process.exec`, `Bun.spawn`, …: where a name that starts programs was declared. */
  function starter(node: ts.Node): string | undefined {
    let symbol = checker.getSymbolAtLocation(node)
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
    for (const declaration of symbol?.declarations ?? []) {
      const promised = ts.isVariableDeclaration(declaration) ? promisedBy(declaration.initializer) : undefined
      if (promised) return starter(promised)
      const from = declaration.getSourceFile().fileName
      if (from.endsWith("/@types/node/child_process.d.ts")) return `child_process.${symbol!.name}`
      if (/\/bun-types\/.*\.d\.ts$/.test(from) && /^(?:spawn|spawnSync|\$)$/.test(symbol!.name))
        return `Bun.${symbol!.name}`
      if (/\/@opencode-ai\/plugin\/dist\/(?:index|shell)\.d\.ts$/.test(from) && /^(?:\$|BunShell)$/.test(symbol!.name))
        return "PluginInput.$"
    }
    return undefined
  }

  function use(node: ts.Node, name: string): void {
    const what = name.slice(name.indexOf(".") + 1)
    if (what === "exec" || what === "execSync" || what === "$") return report("shell text", name, node)
    if (!starters.has(what)) return
    const call = callOf(node)
    if (!call && isPromisedToConstant(node)) return
    if (!call) return report("handed on", name, node)
    const [first, second] = call.arguments
    if (!first) return
    for (const argument of call.arguments) shellOption(argument, name)
    if (name.startsWith("child_process.")) return what === "fork" ? undefined : words(first, listOf(second), name, call)
    const list = ts.isObjectLiteralExpression(first) ? propertyOf(first, "cmd") : first
    const elements = listOf(list)
    if (!elements?.[0]) return report("unread command", name, call)
    words(elements[0], elements.slice(1), name, call)
  }

  function words(
    program: ts.Expression,
    rest: readonly ts.Expression[] | undefined,
    name: string,
    node: ts.Node,
  ): void {
    const command = constantText(checker, program)
    if (command.includes("{}")) return report("program not constant", name, node)
    const base = path.basename(command)
    if (!shells.test(base) && !interpreters.test(base)) return
    if (!rest) return report("unread arguments", base, node)
    const texts = rest.map((word) => (ts.isSpreadElement(word) ? "{}" : constantText(checker, word)))
    const at = texts.findIndex((text) => takesText.test(text))
    if (at < 0 ? texts.some((text) => text.includes("{}")) : (texts[at + 1] ?? "{}").includes("{}"))
      report("text as program", base, node)
  }

  function shellOption(argument: ts.Expression, name: string): void {
    const type = checker.getTypeAtLocation(argument)
    const property = type.flags & ts.TypeFlags.Object ? type.getProperty("shell") : undefined
    if (!property) return
    const value = checker.getTypeOfSymbol(property)
    const parts = value.isUnion() ? value.types : [value]
    const off = (one: ts.Type) => one.flags & ts.TypeFlags.Undefined || checker.typeToString(one) === "false"
    if (!parts.every(off) && !isFalse(argument)) report("shell option", name, argument)
  }

  /** `false` widens to `boolean` in a literal's type: the literal itself tells. */
  function isFalse(argument: ts.Expression): boolean {
    const literal = ts.isIdentifier(argument) ? initializerOf(checker, argument) : argument
    if (!literal || !ts.isObjectLiteralExpression(literal)) return false
    return propertyOf(literal, "shell")?.kind === ts.SyntaxKind.FalseKeyword
  }

  function listOf(node: ts.Expression | undefined): readonly ts.Expression[] | undefined {
    if (!node) return []
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return listOf(node.expression)
    if (ts.isArrayLiteralExpression(node)) return node.elements
    const initializer = initializerOf(checker, node)
    return initializer && listOf(initializer)
  }

  walk(file, (node) => {
    if (ts.isStringLiteralLike(node) && isModuleName(node)) {
      if (packages.test(node.text)) report("package", node.text, node)
      if (ts.isExportDeclaration(node.parent) && modules.test(node.text))
        report("handed on", `${node.text.replace("node:", "")}.*`, node.parent)
      const required = ts.isCallExpression(node.parent) && node.parent.expression.kind !== ts.SyntaxKind.ImportKeyword
      if (required && modules.test(node.text)) report("untyped", node.text, node.parent)
    } else if (ts.isIdentifier(node) && !isNamed(node)) {
      const access = ts.isPropertyAccessExpression(node.parent) && node.parent.name === node ? node.parent : node
      const name = starter(node)
      if (name) use(access, name)
    } else if (ts.isBindingElement(node) || ts.isElementAccessExpression(node)) {
      const key = ts.isBindingElement(node) ? (node.propertyName ?? node.name) : node.argumentExpression
      const type = checker.getTypeAtLocation(ts.isBindingElement(node) ? node.parent : node.expression)
      const text = ts.isIdentifier(key) && ts.isBindingElement(node) ? key.text : textOf(checker, key)
      const symbol = text === undefined ? undefined : checker.getPropertyOfType(type, text)
      const from = symbol?.declarations?.[0]?.getSourceFile().fileName ?? ""
      if (from.endsWith("/@types/node/child_process.d.ts") && (starters.has(text!) || /^exec(?:Sync)?$/.test(text!)))
        report(starters.has(text!) ? "handed on" : "shell text", `child_process.${text}`, node)
      else if (text === "$" && /\/(?:bun-types|@opencode-ai\/plugin)\//.test(from)) report("shell text", "$", node)
    }
  })
}

/** `execFile` of `promisify(execFile)`, whose calls are then read under the constant's name. */
function promisedBy(initializer: ts.Expression | undefined): ts.Expression | undefined {
  if (!initializer || !ts.isCallExpression(initializer) || !/\bpromisify$/.test(initializer.expression.getText()))
    return undefined
  const [first] = initializer.arguments
  return first && ts.isPropertyAccessExpression(first) ? (first.name as ts.Expression) : first
}

function isPromisedToConstant(node: ts.Node): boolean {
  const { parent } = node
  if (!ts.isCallExpression(parent) || !promisedBy(parent)) return false
  return ts.isVariableDeclaration(parent.parent) && !!(ts.getCombinedNodeFlags(parent.parent) & ts.NodeFlags.Const)
}

function textOf(checker: ts.TypeChecker, key: ts.Node): string | undefined {
  return ts.isExpression(key) ? constantText(checker, key) : undefined
}

function callOf(node: ts.Node): ts.CallExpression | undefined {
  let callee = node
  while (ts.isParenthesizedExpression(callee.parent) || ts.isNonNullExpression(callee.parent)) callee = callee.parent
  return ts.isCallExpression(callee.parent) && callee.parent.expression === callee ? callee.parent : undefined
}

function propertyOf(literal: ts.ObjectLiteralExpression, name: string): ts.Expression | undefined {
  const found = literal.properties.find((property) => property.name?.getText() === name)
  return found && ts.isPropertyAssignment(found) ? found.initializer : undefined
}

function isModuleName(node: ts.StringLiteralLike): boolean {
  const { parent } = node
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return true
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== node) return false
  return parent.expression.kind === ts.SyntaxKind.ImportKeyword || /\brequire$/.test(parent.expression.getText())
}

/** Declared or imported here, or spoken of in a type. */
function isNamed(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return false
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent) || ts.isImportClause(parent)) return true
  if (ts.isTypeReferenceNode(parent) || ts.isTypeQueryNode(parent) || ts.isQualifiedName(parent)) return true
  if (ts.isBindingElement(parent)) return true
  return (parent as { name?: ts.Node }).name === node && !ts.isShorthandPropertyAssignment(parent)
}
