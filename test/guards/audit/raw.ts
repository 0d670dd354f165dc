import ts from "typescript"
import { placeOf, type Audited } from "./program.ts"

/** Places (`file#Container.member`) that are watched, and those behind which such a place can be reached. */
export type Watched = { readonly sinks: ReadonlySet<string>; readonly gateways: ReadonlySet<string> }

export type Raw = {
  readonly watchedNames: ReadonlySet<string>
  /** The watched places that a property stands for; empty for an ordinary one. */
  sinksOf(symbol: ts.Symbol | undefined): string[]
  placesOf(symbol: ts.Symbol | undefined): string[]
  /** The type itself has a watched member, or leads to one through gateways. */
  isRaw(type: ts.Type): boolean
  /** A raw object is reachable from a value of this type. */
  carries(type: ts.Type): boolean
  /** A value of `source`, seen as `target`, could be called where the types can no longer tell. */
  loses(source: ts.Type, target: ts.Type): boolean
}

const depthLimit = 3

export function rawTypes({ checker, program }: Audited, watched: Watched, names: ReadonlySet<string>): Raw {
  const symbolPlaces = new Map<ts.Symbol, string[]>()
  const rawMemo = new Map<ts.Type, boolean>()
  const clean = new Map<ts.Type, number>()

  function placesOf(symbol: ts.Symbol | undefined): string[] {
    if (!symbol) return []
    let places = symbolPlaces.get(symbol)
    if (!places) {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      places = [...new Set((target.declarations ?? []).map(placeOf).filter((place) => place !== undefined))]
      symbolPlaces.set(symbol, places)
    }
    return places
  }
  const sinksOf = (symbol: ts.Symbol | undefined) => placesOf(symbol).filter((place) => watched.sinks.has(place))

  function isRaw(type: ts.Type): boolean {
    const known = rawMemo.get(type)
    if (known !== undefined) return known
    rawMemo.set(type, false)
    const raw = members(checker.getBaseConstraintOfType(type) ?? type).some(
      (one) =>
        one.flags & ts.TypeFlags.StructuredType &&
        one
          .getProperties()
          .some((property) =>
            placesOf(property).some((place) => watched.sinks.has(place) || watched.gateways.has(place)),
          ),
    )
    rawMemo.set(type, raw)
    return raw
  }

  function isForeign(type: ts.Type): boolean {
    const declaration = (type.symbol ?? type.aliasSymbol)?.declarations?.[0]
    if (!declaration) return false
    const file = declaration.getSourceFile()
    return program.isSourceFileDefaultLibrary(file) || /\/node_modules\/(?!@opencode-ai\/)/.test(file.fileName)
  }

  function carriesAt(type: ts.Type, depth: number): boolean {
    if (isRaw(type)) return true
    if (depth === 0 || (clean.get(type) ?? -1) >= depth) return false
    const found = members(type).some((one) => {
      if (!(one.flags & ts.TypeFlags.StructuredType)) return false
      const reference = one.flags & ts.TypeFlags.Object && (one as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference
      const given = reference ? checker.getTypeArguments(one as ts.TypeReference) : []
      if (given.some((argument) => argument !== one && carriesAt(argument, depth - 1))) return true
      if (isForeign(one)) return false
      return one.getProperties().some((property) => carriesAt(checker.getTypeOfSymbol(property), depth - 1))
    })
    if (!found) clean.set(type, depth)
    return found
  }
  const carries = (type: ts.Type) => carriesAt(type, depthLimit)

  /** `never` is a cast, after which it is taken for anything. */
  const vague = ts.TypeFlags.Any | ts.TypeFlags.Unknown | ts.TypeFlags.NonPrimitive | ts.TypeFlags.Never

  /** What a promise, a list or a map of both kinds holds. */
  function held(source: ts.Type, target: ts.Type): [ts.Type, ts.Type][] {
    const isReference = (type: ts.Type): type is ts.TypeReference =>
      !!(type.flags & ts.TypeFlags.Object) && !!((type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference)
    if (!isReference(source) || !isReference(target) || source.target !== target.target) return []
    const wanted = checker.getTypeArguments(target)
    return checker.getTypeArguments(source).flatMap((given, at) => (wanted[at] ? [[given, wanted[at]]] : []))
  }

  function losesAt(source: ts.Type, target: ts.Type, depth: number): boolean {
    if (source === target || depth < 0 || !carriesAt(source, depth)) return false
    if (target.flags & vague) return true
    if (target.isUnion()) {
      const objects = target.types.filter((one) => one.flags & (ts.TypeFlags.StructuredType | vague))
      return objects.length > 0 && objects.every((one) => losesAt(source, one, depth))
    }
    if (source.isUnion()) return source.types.some((one) => losesAt(one, target, depth))
    if (!(target.flags & ts.TypeFlags.StructuredType)) return false
    if (held(source, target).some(([given, wanted]) => losesAt(given, wanted, depth - 1))) return true
    const properties = target.getProperties()
    const empty = properties.length === 0 && target.getCallSignatures().length === 0
    if (empty || target.getStringIndexType()) return true
    return properties.some((wanted) => {
      const given = source.getProperty(wanted.name)
      if (!given) return names.has(wanted.name)
      const sinks = sinksOf(given)
      if (sinks.length > 0) return !sinks.some((place) => placesOf(wanted).includes(place))
      return losesAt(checker.getTypeOfSymbol(given), checker.getTypeOfSymbol(wanted), depth - 1)
    })
  }

  const watchedNames = new Set([...watched.sinks].map((place) => place.slice(place.lastIndexOf(".") + 1)))
  return {
    watchedNames,
    sinksOf,
    placesOf,
    isRaw,
    carries,
    loses: (source, target) => losesAt(source, target, depthLimit),
  }
}

function members(type: ts.Type): readonly ts.Type[] {
  return type.isUnion() ? type.types : [type]
}
