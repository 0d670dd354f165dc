import { existsSync, readFileSync, statSync } from "node:fs"
import { dirname, isAbsolute, join, relative, resolve } from "node:path"
import ts from "typescript"
import { expect, test } from "vitest"
import { parse, root, trackedFiles, visit } from "./sources.ts"

const texts = trackedFiles()
  .filter((path) => existsSync(join(root, path)) && statSync(join(root, path)).isFile())
  .map((path) => ({ path, bytes: readFileSync(join(root, path)) }))
  .filter(({ bytes }) => !bytes.includes(0))
  .map(({ path, bytes }) => ({ path, text: bytes.toString("utf8") }))

const isOutside = (path: string) => relative(root, path).startsWith("..") || isAbsolute(relative(root, path))

/** Relative paths in the source that lead out of the checkout. */
function waysOut(path: string, text: string): string[] {
  const found: string[] = []
  visit(parse(path, text).tree, (node) => {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateHead(node)
    if (!isText || !/^\.\.?\//.test(node.text)) return
    // Where a path starts from is the file's own folder, or the root for what is joined to it.
    const starts = [dirname(join(root, path)), root]
    if (starts.every((start) => isOutside(resolve(start, node.text)))) found.push(`${path}: ${node.text}`)
  })
  return found
}

test("nothing depends on a file outside of the checkout", () => {
  const code = texts.filter(({ path }) => /\.(tsx?|mjs|js)$/.test(path))
  expect(code.length).toBeGreaterThan(0)
  expect(code.flatMap(({ path, text }) => waysOut(path, text))).toEqual([])
  expect(waysOut("src/core/x.ts", 'read("../../../elsewhere/notes.md")')).toHaveLength(1)
})

test("a document links to nothing outside of the checkout", () => {
  const links = texts
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) => {
      const targets = [...text.matchAll(/\]\((?!\w+:|#)([^)#\s]+)[^)]*\)/g)].map((match) => match[1]!)
      return targets.filter((target) => isOutside(resolve(root, dirname(path), target))).map((to) => `${path}: ${to}`)
    })
  expect(links).toEqual([])
})

test("no file names the place of this checkout on this machine", () => {
  const place = root.replace(/\/$/, "")
  expect(texts.filter(({ text }) => text.includes(place)).map(({ path }) => path)).toEqual([])
})

test("the lock file names no registry", () => {
  const lock = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"))
  const resolved = Object.entries<{ resolved?: string }>(lock.packages).filter(([, entry]) => entry.resolved)
  expect(resolved.map(([name]) => name)).toEqual([])
})
