import ts from "typescript"
import { constantNumber, constantText } from "./constants.ts"
import type { Report } from "./findings.ts"
import { walk, type Audited } from "./program.ts"
import { isAssigned } from "./reach.ts"
import { unmistakable } from "./surface.ts"

const routes = [
  /prompt_async/,
  /\/session\/[^/\s]+\/(?:message|command|shell|summarize|init|prompt|compact|background)\b/,
  /\/tui\/(?:append-prompt|submit-prompt|execute-command|publish|control)/,
  /\/api\/session\b/,
  /\/sync\/(?:start|replay|steal)/,
]
const sdkModule = /^@opencode-ai\/sdk(?:\/|$)/
const networkModule = /^(?:node:)?(?:https?|http2|net|tls|undici)$/
const networkNames = new Set(["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "connect"])
const codeNames = new Set(["eval", "Function"])
/** What loads a module by a name, under a name of its own. */
const loaderNames = new Set(["createRequire", "getBuiltinModule"])
const commandNames = new Set(["dispatchCommand", "runCommand", "trigger"])
/** Commands of the host's own screen that send what stands in the prompt, or work on the session at hand. */
const turnCommands =
  /^(?:prompt|input|session|dialog\.prompt|stash|messages)\.(?:submit|compact|shell|init|undo|redo|background|interrupt|run)|prompt\.submit/
const noTime = /^(?:postDispatchHoldMs|settleMs|dispatchTimeoutMs|\w*_HOLD_MS|\w*HoldMs)$/

/** Ways to a turn that need no client of the SDK's types: modules, raw requests, the host's commands, code from text. */
export function steer({ checker, program }: Audited, file: ts.SourceFile, report: Report): void {
  const globalOf = (node: ts.Identifier): string | undefined => {
    const symbol = checker.getSymbolAtLocation(node)
    const declaration = symbol?.declarations?.[0]
    if (!declaration) return undefined
    const from = declaration.getSourceFile()
    const ambient =
      program.isSourceFileDefaultLibrary(from) || /\/node_modules\/(?:bun-types|@types)\//.test(from.fileName)
    return ambient ? node.text : undefined
  }

  function module(name: string, node: ts.Node): void {
    if (sdkModule.test(name)) report("sdk import", name, node)
    else if (networkModule.test(name)) report("request", name, node)
    else if (/^(?:node:)?vm$/.test(name)) report("code from text", name, node)
  }

  function text(node: ts.Expression): void {
    const whole = ts.isBinaryExpression(node) ? node.operatorToken.kind === ts.SyntaxKind.PlusToken : isText(node)
    if (!whole || isPartOfText(node)) return
    const value = constantText(checker, node)
    if (routes.some((route) => route.test(value))) report("route", value.slice(0, 60), node)
  }

  function timing(name: ts.PropertyName | ts.BindingName, value: ts.Expression | undefined, node: ts.Node): void {
    if (!value) return
    const given = ts.isComputedPropertyName(name) ? constantText(checker, name.expression) : name.getText()
    const key = given.replaceAll(/^["'`]|["'`]$/g, "")
    if (noTime.test(key) && options(value).some((one) => (constantNumber(checker, one) ?? 1) <= 0))
      report("no time", key, node)
  }

  /** The values that an expression chooses among. */
  function options(value: ts.Expression): ts.Expression[] {
    if (ts.isParenthesizedExpression(value)) return options(value.expression)
    if (ts.isConditionalExpression(value)) return [value.whenTrue, value.whenFalse].flatMap(options)
    const chosen = ts.isBinaryExpression(value) && /^(?:\?\?|\|\||&&)$/.test(value.operatorToken.getText())
    return chosen ? [value.left, value.right].flatMap(options) : [value]
  }

  /** A command is said where it is called: one that goes by another name says nothing of what it will be given. */
  function handedOn(node: ts.PropertyAccessExpression | ts.ElementAccessExpression | ts.BindingElement): void {
    const key = ts.isPropertyAccessExpression(node)
      ? node.name
      : ts.isElementAccessExpression(node)
        ? node.argumentExpression
        : (node.propertyName ?? node.name)
    const name = ts.isIdentifier(key) ? key.text : ts.isExpression(key) ? constantText(checker, key) : ""
    if (!commandNames.has(name) || (ts.isPropertyAccessExpression(node) && isCallee(node))) return
    const holder = checker.getTypeAtLocation(ts.isBindingElement(node) ? node.parent : node.expression)
    const [declared] = checker.getNonNullableType(holder).getProperty(name)?.declarations ?? []
    if (declared && /\/node_modules\/@open(?:code-ai|tui)\//.test(declared.getSourceFile().fileName))
      report("command", `${name} under another name`, node)
  }

  function command(node: ts.CallExpression): void {
    if (!ts.isPropertyAccessExpression(node.expression)) return
    if (!commandNames.has(node.expression.name.text)) return
    const [first] = node.arguments
    if (!first) return
    const type = checker.getTypeAtLocation(first)
    const names = type.isUnion() ? type.types : [type]
    for (const one of names)
      if (!one.isStringLiteral()) report("command", "a name that is not constant", node)
      else if (turnCommands.test(one.value)) report("command", one.value, node)
  }

  walk(file, (node) => {
    if (ts.isImportDeclaration(node)) {
      const named = node.importClause?.namedBindings
      const types =
        node.importClause?.isTypeOnly ||
        (!node.importClause?.name && named && ts.isNamedImports(named) && named.elements.every((one) => one.isTypeOnly))
      if (!types && ts.isStringLiteral(node.moduleSpecifier)) module(node.moduleSpecifier.text, node)
    } else if (ts.isExportDeclaration(node)) {
      const from = node.moduleSpecifier
      if (from && !node.isTypeOnly && ts.isStringLiteral(from)) module(from.text, node)
    } else if (ts.isCallExpression(node)) {
      const [first] = node.arguments
      const callee = node.expression
      const loads =
        callee.kind === ts.SyntaxKind.ImportKeyword ||
        (ts.isIdentifier(callee) && callee.text === "require") ||
        (ts.isPropertyAccessExpression(callee) && callee.name.text === "require")
      if (loads && first) module(constantText(checker, first), node)
      command(node)
    } else if (ts.isIdentifier(node) && !isNamePosition(node)) {
      const name = globalOf(node)
      if (name && networkNames.has(name)) report("request", name, node)
      if (name && codeNames.has(name)) report("code from text", name, node)
    } else if (ts.isPropertyAccessExpression(node)) {
      const name = ts.isIdentifier(node.name) ? globalOf(node.name) : undefined
      if (name && networkNames.has(name) && isGlobalObject(node.expression)) report("request", name, node)
      if (loaderNames.has(node.name.text)) report("code from text", node.name.text, node)
      handedOn(node)
    } else if (ts.isElementAccessExpression(node)) {
      const name = constantText(checker, node.argumentExpression)
      if (networkNames.has(name) && isGlobalObject(node.expression)) report("request", name, node)
      if (loaderNames.has(name)) report("code from text", name, node)
      handedOn(node)
    } else if (ts.isBindingElement(node)) {
      const name = (node.propertyName ?? node.name).getText()
      const from = node.parent.parent
      const ofGlobal = ts.isVariableDeclaration(from) && from.initializer && isGlobalObject(from.initializer)
      if (networkNames.has(name) && ofGlobal) report("request", name, node)
      if (loaderNames.has(name)) report("code from text", name, node)
      handedOn(node)
    } else if (ts.isImportSpecifier(node)) {
      const name = (node.propertyName ?? node.name).text
      if (loaderNames.has(name)) report("code from text", name, node)
    }
    if (ts.isPropertyAssignment(node)) timing(node.name, node.initializer, node)
    else if (ts.isShorthandPropertyAssignment(node)) timing(node.name, shorthand(checker, node), node)
    else if (ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node) || ts.isBindingElement(node))
      timing(node.name, node.initializer, node)
    else if (ts.isParameter(node)) timing(node.name, node.initializer, node)
    else if (ts.isBinaryExpression(node) && ts.isPropertyAccessExpression(node.left))
      if (ts.isIdentifier(node.left.name)) timing(node.left.name, node.right, node)
    if (
      isDeclaredMember(node) &&
      !isAssigned(node.parent) &&
      unmistakable.has(node.name.getText().replaceAll(/^["'`]|["'`]$/g, ""))
    )
      if (!isHarmlessGuard(checker, node)) report("own member", node.name.getText(), node)
    if (ts.isExpression(node)) text(node)
  })
}

function isText(node: ts.Expression): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)
}

function isPartOfText(node: ts.Expression): boolean {
  let { parent } = node
  while (ts.isParenthesizedExpression(parent)) parent = parent.parent
  if (ts.isTemplateSpan(parent)) return true
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.PlusToken
}

function isNamePosition(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent)) return parent.name === node
  if (ts.isTypeQueryNode(parent) || ts.isTypeReferenceNode(parent) || ts.isQualifiedName(parent)) return true
  if (ts.isBindingElement(parent)) return parent.propertyName === node || parent.name === node
  return (parent as { name?: ts.Node }).name === node && !ts.isShorthandPropertyAssignment(parent)
}

function isCallee(node: ts.Expression): boolean {
  return ts.isCallExpression(node.parent) && node.parent.expression === node
}

function isGlobalObject(node: ts.Expression): boolean {
  return ts.isIdentifier(node) && ["globalThis", "window", "self", "global", "Bun"].includes(node.text)
}

function shorthand(checker: ts.TypeChecker, node: ts.ShorthandPropertyAssignment): ts.Expression | undefined {
  const declaration = checker.getShorthandAssignmentValueSymbol(node)?.valueDeclaration
  return declaration && ts.isVariableDeclaration(declaration) ? declaration.initializer : undefined
}

type DeclaredMember = ts.Node & { readonly name: ts.PropertyName }

function isDeclaredMember(node: ts.Node): node is DeclaredMember {
  return (
    (ts.isPropertySignature(node) ||
      ts.isMethodSignature(node) ||
      ts.isMethodDeclaration(node) ||
      ts.isPropertyDeclaration(node) ||
      ts.isPropertyAssignment(node) ||
      ts.isShorthandPropertyAssignment(node) ||
      ts.isAccessor(node)) &&
    node.name !== undefined
  )
}

/** `value is { promptAsync: unknown }`: asks for the member, and gives nothing that could be called. */
function isHarmlessGuard(checker: ts.TypeChecker, node: ts.Node): boolean {
  if (!ts.isPropertySignature(node) || !node.type) return false
  let outer: ts.Node = node.parent
  while (ts.isTypeLiteralNode(outer) || ts.isPropertySignature(outer)) outer = outer.parent
  return ts.isTypePredicateNode(outer) && !!(checker.getTypeFromTypeNode(node.type).flags & ts.TypeFlags.Unknown)
}
