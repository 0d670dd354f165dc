import ts from "typescript"
import { placeOf, walk, type Audited } from "./program.ts"
import { entrances, judgedPlaces, surfaces } from "./surface.ts"

/** Differences between the lists above and what is installed: names that are gone, and members nobody has judged. */
export function surfaceDrift(audited: Audited): string[] {
  const wanted = new Set([...judgedPlaces, ...entrances])
  const containers = new Set(surfaces.map((surface) => `${surface.file}#${surface.container}`))
  const judged = (place: string) => !containers.has(place.slice(0, place.lastIndexOf("."))) || wanted.has(place)
  const unjudged = [...declaredPlaces(audited, wanted)].filter((place) => !judged(place))
  return [
    ...missingPlaces(audited, wanted),
    ...unjudged.map((place) => `${place} is new: does it start or steer a turn?`),
  ]
}

/** Those of the places that nothing of the installed packages and of `src` declares. */
export function missingPlaces(audited: Audited, places: ReadonlySet<string>): string[] {
  const found = declaredPlaces(audited, places)
  return [...places].filter((place) => !found.has(place)).map((place) => `${place} is not there any more`)
}

/** Everything declared in the files in which the given places stand. */
function declaredPlaces(audited: Audited, places: ReadonlySet<string>): Set<string> {
  const found = new Set<string>()
  const files = [...new Set([...places].map((place) => place.slice(0, place.indexOf("#"))))]
  for (const file of audited.program.getSourceFiles()) {
    if (!files.some((name) => file.fileName.endsWith(`/${name}`))) continue
    walk(file, (node) => {
      const declares = ts.isTypeElement(node) || ts.isClassElement(node) || ts.isFunctionDeclaration(node)
      const place = declares && !isPrivate(node) && placeOf(node)
      if (place) found.add(place)
    })
  }
  return found
}

function isPrivate(node: ts.Node): boolean {
  return ts.canHaveModifiers(node) && !!ts.getModifiers(node)?.some((one) => one.kind === ts.SyntaxKind.PrivateKeyword)
}
