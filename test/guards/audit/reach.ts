import ts from "typescript"
import type { Report } from "./findings.ts"
import { walk, type Audited } from "./program.ts"
import type { Raw } from "./raw.ts"

export type Reach = {
  readonly raw: Raw
  /** Names that are watched on whatever object they are read from. */
  readonly names: ReadonlySet<string>
  /** Names that are watched on an object of which nothing is known. */
  readonly doubtful: ReadonlySet<string>
  /** Places whose every use is reported, type positions left out. */
  readonly entrances: ReadonlySet<string>
  /** Only what is read is of interest, not where a raw object goes. */
  readonly readsOnly?: boolean
}

/**
 * Every way in which one file gets hold of a watched member or lets a raw object out of the types' sight.
 * A member that is only asked for its `typeof` is not held.
 */
export function reach(
  audited: Audited,
  { raw, names, doubtful, entrances, readsOnly }: Reach,
  file: ts.SourceFile,
  report: Report,
): void {
  const { checker } = audited
  const watched = new Set([...raw.watchedNames, ...names, ...doubtful, ...[...entrances].map(memberOf)])
  const typed = !readsOnly && audited.reachesHost(file)

  function member(type: ts.Type, name: string, node: ts.Node): void {
    if (!watched.has(name)) return
    const constraint = checker.getNonNullableType(checker.getBaseConstraintOfType(type) ?? type)
    for (const one of constraint.isUnion() ? constraint.types : [constraint]) {
      const property = checker.getPropertyOfType(one, name)
      for (const place of raw.sinksOf(property)) report("sink", label(place), node)
      for (const place of raw.placesOf(property)) if (entrances.has(place)) report("entrance", label(place), node)
      const untyped = !!(one.flags & ts.TypeFlags.Any)
      if (names.has(name) && raw.sinksOf(property).length === 0) report("named", name, node)
      else if (untyped && doubtful.has(name)) report("named", `any.${name}`, node)
    }
  }

  function key(type: ts.Type, index: ts.Expression, node: ts.Node): void {
    if (raw.isRaw(type) && isCast(index)) {
      report("dynamic key", checker.typeToString(type), node)
      return
    }
    const keys = checker.getTypeAtLocation(index)
    for (const one of keys.isUnion() ? keys.types : [keys]) {
      if (one.isStringLiteral()) member(type, one.value, node)
      else if (raw.isRaw(type)) report("dynamic key", checker.typeToString(type), node)
      else if (type.flags & ts.TypeFlags.Any && !(one.flags & ts.TypeFlags.NumberLike))
        report("dynamic key", "any", node)
    }
  }

  function pattern(type: ts.Type, name: ts.PropertyName, node: ts.Node): ts.Type | undefined {
    if (ts.isComputedPropertyName(name)) {
      key(type, name.expression, node)
      return undefined
    }
    member(type, name.text, node)
    const property = type.getProperty(name.text)
    return property && checker.getTypeOfSymbol(property)
  }

  function assignment(target: ts.Expression, type: ts.Type): void {
    if (ts.isParenthesizedExpression(target)) assignment(target.expression, type)
    else if (ts.isArrayLiteralExpression(target))
      for (const [index, element] of target.elements.entries()) {
        const property = type.getProperty(String(index))
        const inner = property ? checker.getTypeOfSymbol(property) : type.getNumberIndexType()
        if (inner) assignment(element, inner)
      }
    else if (ts.isObjectLiteralExpression(target))
      for (const property of target.properties) {
        if (ts.isSpreadAssignment(property)) {
          if (raw.isRaw(type)) report("spread", checker.typeToString(type), property)
        } else if (property.name) {
          const inner = pattern(type, property.name, property)
          if (inner && ts.isPropertyAssignment(property)) assignment(property.initializer, inner)
        }
      }
  }

  walk(file, (node) => {
    if (ts.isPropertyAccessExpression(node)) {
      if (watched.has(node.name.text) && !isTypeof(node))
        member(checker.getTypeAtLocation(node.expression), node.name.text, node)
    } else if (ts.isElementAccessExpression(node)) {
      if (!isTypeof(node)) key(checker.getTypeAtLocation(node.expression), node.argumentExpression, node)
    } else if (ts.isObjectBindingPattern(node)) {
      const type = checker.getTypeAtLocation(node)
      for (const element of node.elements) {
        if (element.dotDotDotToken) {
          if (raw.isRaw(type)) report("spread", checker.typeToString(type), element)
        } else if (element.propertyName) pattern(type, element.propertyName, element)
        else if (ts.isIdentifier(element.name)) pattern(type, element.name, element)
      }
    } else if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
      assignment(node.left, checker.getTypeAtLocation(node.right))
    } else if (ts.isForOfStatement(node) && !ts.isVariableDeclarationList(node.initializer)) {
      const element = checker.getTypeAtLocation(node.expression).getNumberIndexType()
      if (element) assignment(node.initializer, element)
    } else if (ts.isSpreadAssignment(node) && !isAssigned(node.parent)) {
      const type = checker.getTypeAtLocation(node.expression)
      if (raw.isRaw(type)) report("spread", checker.typeToString(type), node)
    } else if (typed && ts.isTypeNode(node)) mention(node)
    if (typed && ts.isIdentifier(node) && isUse(node)) {
      const symbol = checker.getSymbolAtLocation(node)
      for (const place of raw.placesOf(symbol)) if (entrances.has(place)) report("entrance", label(place), node)
    }
    if (typed && ts.isExpression(node)) escape(node)
  })

  /** A type that says "raw object" lets any value be taken for one, and one be kept anywhere. */
  function mention(node: ts.TypeNode): void {
    if (ts.isExpressionWithTypeArguments(node) && !ts.isHeritageClause(node.parent)) return
    if (ts.isTypeLiteralNode(node) || ts.isUnionTypeNode(node) || ts.isParenthesizedTypeNode(node)) return
    if (ts.isTypePredicateNode(node) || ts.isTypeOperatorNode(node)) return
    const type = checker.getTypeFromTypeNode(node)
    if (raw.isRaw(type)) report("raw type", type.aliasSymbol?.name ?? type.symbol?.name ?? node.getText(), node)
  }

  function escape(node: ts.Expression): void {
    if (isPlain(node) || isRead(node) || isName(node)) return
    const source = checker.getTypeAtLocation(node)
    if (!(source.flags & (ts.TypeFlags.StructuredType | ts.TypeFlags.TypeParameter)) || !raw.carries(source)) return
    if (isOpened(node) || isWeakKey(checker, node)) return
    const target = targetOf(node)
    // What is thrown is caught as anything.
    if (ts.isThrowStatement(node.parent)) return report("escape", checker.typeToString(source), node)
    const literal = ts.isObjectLiteralExpression(node) || ts.isArrayLiteralExpression(node)
    if (literal && target && !isVague(target)) return
    if (isReflected(node) && raw.isRaw(source)) report("escape", checker.typeToString(source), node)
    else if (target && raw.loses(source, target)) report("escape", checker.typeToString(source), node)
  }

  function targetOf(node: ts.Expression): ts.Type | undefined {
    const { parent } = node
    if (ts.isAsExpression(parent) || ts.isTypeAssertionExpression(parent))
      return ts.isConstTypeReference(parent.type) ? undefined : checker.getTypeFromTypeNode(parent.type)
    if ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression !== node) {
      const index = parent.arguments?.indexOf(node) ?? -1
      const parameters = checker.getResolvedSignature(parent)?.parameters ?? []
      const parameter = parameters[Math.min(index, parameters.length - 1)]
      if (!parameter) return checker.getContextualType(node)
      const type = checker.getTypeOfSymbol(parameter)
      const rest = parameter.valueDeclaration
      const isRest = rest && ts.isParameter(rest) && rest.dotDotDotToken
      return (isRest ? type.getNumberIndexType() : type) ?? type
    }
    if (
      ts.isBinaryExpression(parent) &&
      parent.right === node &&
      parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
    )
      return checker.getTypeAtLocation(parent.left)
    return checker.getContextualType(node)
  }
}

function label(place: string): string {
  return place.slice(place.indexOf("#") + 1)
}

function memberOf(place: string): string {
  return place.slice(Math.max(place.lastIndexOf("."), place.lastIndexOf("#")) + 1)
}

function isCast(node: ts.Expression): boolean {
  if (ts.isParenthesizedExpression(node)) return isCast(node.expression)
  return ts.isAsExpression(node) && !ts.isConstTypeReference(node.type)
}

/** An expression whose value cannot be an object of somebody else's. */
function isPlain(node: ts.Expression): boolean {
  return (
    ts.isLiteralExpression(node) ||
    ts.isTemplateExpression(node) ||
    ts.isFunctionExpression(node) ||
    ts.isArrowFunction(node) ||
    ts.isPrefixUnaryExpression(node) ||
    ts.isTypeOfExpression(node) ||
    ts.isJsxElement(node) ||
    ts.isJsxSelfClosingElement(node) ||
    ts.isJsxFragment(node)
  )
}

function isTypeof(node: ts.Expression): boolean {
  let outer: ts.Node = node.parent
  while (ts.isParenthesizedExpression(outer) || ts.isNonNullExpression(outer)) outer = outer.parent
  return ts.isTypeOfExpression(outer)
}

function isVague(type: ts.Type): boolean {
  return !!(type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive))
}

/** Given to a pattern, which is judged member by member. */
function isOpened(node: ts.Expression): boolean {
  const { parent } = node
  if (ts.isVariableDeclaration(parent) || ts.isParameter(parent) || ts.isBindingElement(parent))
    return parent.initializer === node && !ts.isIdentifier(parent.name) && (ts.isBindingElement(parent) || !parent.type)
  return (
    ts.isBinaryExpression(parent) &&
    parent.right === node &&
    (ts.isObjectLiteralExpression(parent.left) || ts.isArrayLiteralExpression(parent.left))
  )
}

/** The key of a weak map or set: nobody can get it out of there again. */
function isWeakKey(checker: ts.TypeChecker, node: ts.Expression): boolean {
  const { parent } = node
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== node) return false
  if (!ts.isPropertyAccessExpression(parent.expression)) return false
  const holder = checker.getTypeAtLocation(parent.expression.expression).symbol?.name
  return holder === "WeakMap" || holder === "WeakSet"
}

/** Given to `Object.…` or `Reflect.…`, whose answers have no names any more. */
function isReflected(node: ts.Expression): boolean {
  const { parent } = node
  if (!ts.isCallExpression(parent) || !parent.arguments.includes(node)) return false
  const callee = parent.expression
  const object =
    ts.isPropertyAccessExpression(callee) || ts.isElementAccessExpression(callee) ? callee.expression : callee
  return ts.isIdentifier(object) && (object.text === "Reflect" || object.text === "Object")
}

/** The left side of a destructuring assignment, at any depth. */
export function isAssigned(node: ts.Node): boolean {
  const { parent } = node
  if (ts.isBinaryExpression(parent))
    return parent.left === node && parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
  if (ts.isForOfStatement(parent)) return parent.initializer === node
  return (
    (ts.isPropertyAssignment(parent) || ts.isArrayLiteralExpression(parent) || ts.isParenthesizedExpression(parent)) &&
    isAssigned(ts.isPropertyAssignment(parent) ? parent.parent : parent)
  )
}

/** Only looked at, not handed on: a receiver, a callee, a condition. */
function isRead(node: ts.Expression): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent)) return parent.expression === node
  if (ts.isCallExpression(parent)) return parent.expression === node
  if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node)) return true
  return ts.isTypeOfExpression(parent) || ts.isIfStatement(parent) || ts.isPrefixUnaryExpression(parent)
}

function isName(node: ts.Node): boolean {
  return (node.parent as { name?: ts.Node }).name === node && !ts.isShorthandPropertyAssignment(node.parent)
}

/** A value is used under this name, not declared, imported or spoken of in a type. */
function isUse(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return false
  if (ts.isImportSpecifier(parent) || ts.isImportClause(parent) || ts.isExportSpecifier(parent)) return false
  if (ts.isBindingElement(parent) || ts.isTypeQueryNode(parent) || ts.isTypeReferenceNode(parent)) return false
  if (ts.isQualifiedName(parent)) return false
  return !isName(node)
}
