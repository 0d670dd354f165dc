import ts from "typescript"

/** The number an expression always has, following constants; `undefined` where it depends on anything else. */
export function constantNumber(checker: ts.TypeChecker, node: ts.Expression, depth = 8): number | undefined {
  if (depth === 0) return undefined
  const again = (inner: ts.Expression) => constantNumber(checker, inner, depth - 1)
  const type = checker.getTypeAtLocation(node)
  if (type.isNumberLiteral()) return type.value
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
    return again(node.expression)
  if (ts.isPrefixUnaryExpression(node)) {
    const value = again(node.operand)
    return value !== undefined && node.operator === ts.SyntaxKind.MinusToken ? -value : value
  }
  if (ts.isBinaryExpression(node)) {
    const left = again(node.left)
    const right = again(node.right)
    if (left === undefined || right === undefined) return undefined
    if (node.operatorToken.kind === ts.SyntaxKind.PlusToken) return left + right
    if (node.operatorToken.kind === ts.SyntaxKind.MinusToken) return left - right
    if (node.operatorToken.kind === ts.SyntaxKind.AsteriskToken) return left * right
    return undefined
  }
  const initializer = initializerOf(checker, node)
  return initializer && again(initializer)
}

/** The text an expression always has, with `{}` for every part that is not constant. */
export function constantText(checker: ts.TypeChecker, node: ts.Expression, depth = 8): string {
  if (depth === 0) return "{}"
  const again = (inner: ts.Expression) => constantText(checker, inner, depth - 1)
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
    return again(node.expression)
  if (ts.isTemplateExpression(node))
    return node.head.text + node.templateSpans.map((span) => again(span.expression) + span.literal.text).join("")
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return again(node.left) + again(node.right)
  const type = checker.getTypeAtLocation(node)
  if (type.isStringLiteral()) return type.value
  const initializer = initializerOf(checker, node)
  return initializer ? again(initializer) : "{}"
}

/** What a constant name, or a property of a constant object, was set to. */
export function initializerOf(checker: ts.TypeChecker, node: ts.Expression): ts.Expression | undefined {
  if (!ts.isIdentifier(node) && !ts.isPropertyAccessExpression(node)) return undefined
  let symbol = checker.getSymbolAtLocation(node)
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
  const declaration = symbol?.valueDeclaration
  if (!declaration) return undefined
  if (ts.isVariableDeclaration(declaration))
    return ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const ? declaration.initializer : undefined
  return ts.isPropertyAssignment(declaration) ? declaration.initializer : undefined
}
