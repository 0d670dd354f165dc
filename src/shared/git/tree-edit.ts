import { createHash } from "node:crypto"
import { deflateSync } from "node:zlib"
import { ok } from "../../core/result.ts"
import { decodePath, encodePath, joinNul } from "./bytes.ts"
import { fail, type GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"
import type { TreeEntry } from "./status.ts"

/** What stands at a path afterwards; `undefined`: nothing does. */
export type TreeEdits = ReadonlyMap<string, TreeEntry | undefined>

interface Folder {
  /** What it is called in the object store as long as nothing in it changes. */
  readonly object?: string
  readonly entries: Map<string, TreeEntry>
  readonly folders: Map<string, Folder>
}

const FOLDER = "040000"

/** The folders of a tree that an edit goes through. */
export interface OpenTree {
  readonly tree: string
  /** What stands there; `undefined`: no folder does. */
  folder(path: string): Folder | undefined
}

/** Opens a tree at the folders above these paths: all in one call, however many files the tree has. */
export async function openTree(git: Git, cwd: string, tree: string, paths: Iterable<string>): GitResult<OpenTree> {
  const asked = new Set(["", ...[...paths].flatMap(foldersAbove)])
  const read = await readFolders(git, cwd, tree, [...asked])
  if (!read.ok) return read
  return ok({
    tree,
    folder(path) {
      // What was not read would be taken for empty, and its files for gone.
      if (!asked.has(path)) throw new Error(`the folder ${path} was not opened`)
      return read.value.get(path)
    },
  })
}

/**
 * The tree with some paths set or removed, which must be among those it was opened at. Only the folders on the way to
 * them are written, and nothing where the answer is `known`, a tree that the repository has.
 */
export async function editTree(
  git: Git,
  cwd: string,
  { tree, folder }: OpenTree,
  edits: TreeEdits,
  known?: string,
): GitResult<string> {
  const root = folder("") ?? emptyFolder()
  // Removals first: a file may have made room for a folder of its name, and a folder for a file.
  for (const [path, entry] of edits) if (entry === undefined) removeEntry(root, path, folder)
  for (const [path, entry] of edits) if (entry !== undefined) setEntry(root, path, entry, folder)
  const hash = tree.length === 64 ? "sha256" : "sha1"
  const written: Buffer[] = []
  const object = settle(root, hash, written)
  if (written.length === 0 || object === known) return ok(object)
  // `git mktree` looks up each entry of each folder, which takes long where objects are not packed.
  const stored = await git.run(["unpack-objects", "-q"], { cwd, stdin: packOf(written, hash) })
  return stored.ok ? ok(object) : stored
}

/** Every folder that a path lies in, without the outermost one. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = []
  for (let at = path.indexOf("/"); at !== -1; at = path.indexOf("/", at + 1)) folders.push(path.slice(0, at))
  return folders
}

async function readFolders(
  git: Git,
  cwd: string,
  tree: string,
  paths: readonly string[],
): GitResult<ReadonlyMap<string, Folder>> {
  const names = paths.map((path) => `${tree}:${path}`)
  const answer = await git.run(["cat-file", "--batch", "-z"], { cwd, stdin: joinNul(names) })
  if (!answer.ok) return answer
  const { bytes } = answer.value
  const found = new Map<string, Folder>()
  let at = 0
  for (const [i, path] of paths.entries()) {
    const missing = Buffer.concat([encodePath(names[i]!), Buffer.from(" missing\n")])
    if (bytes.subarray(at, at + missing.length).equals(missing)) {
      at += missing.length
      continue
    }
    const end = bytes.indexOf(10, at)
    const header = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(bytes.toString("latin1", at, end))
    if (end === -1 || !header)
      return fail("unreadable", "git cat-file answered something unknown", { what: "cat-file" })
    const content = bytes.subarray(end + 1, end + 1 + Number(header[3]))
    if (header[2] === "tree") found.set(path, readFolder(content, header[1]!))
    at = end + 1 + content.length + 1
  }
  return ok(found)
}

/** Reads `<mode> <name>NUL<id>`, again and again. */
function readFolder(bytes: Buffer, object: string): Folder {
  const entries = new Map<string, TreeEntry>()
  const length = object.length / 2
  for (let at = 0; at < bytes.length;) {
    const space = bytes.indexOf(32, at)
    const end = bytes.indexOf(0, space)
    const mode = bytes.toString("latin1", at, space).padStart(6, "0")
    entries.set(decodePath(bytes.subarray(space + 1, end)), {
      mode,
      object: bytes.toString("hex", end + 1, end + 1 + length),
    })
    at = end + 1 + length
  }
  return { object, entries, folders: new Map() }
}

function emptyFolder(): Folder {
  return { entries: new Map(), folders: new Map() }
}

type Reader = OpenTree["folder"]

/** The folder that is to change at a path; made where there is none and `make` is asked for. */
function enter(root: Folder, path: string, at: Reader, make: boolean): Folder | undefined {
  let folder = root
  let so = ""
  for (const name of path === "" ? [] : path.split("/")) {
    so = so === "" ? name : `${so}/${name}`
    let next = folder.folders.get(name)
    if (next === undefined) {
      next = folder.entries.get(name)?.mode === FOLDER ? at(so) : undefined
      if (next === undefined && !make) return undefined
      next ??= emptyFolder()
      folder.entries.delete(name)
      folder.folders.set(name, next)
    }
    folder = next
  }
  return folder
}

function removeEntry(root: Folder, path: string, at: Reader) {
  const { parent, name } = partsOf(path)
  const folder = enter(root, parent, at, false)
  if (folder?.entries.get(name)?.mode !== FOLDER) folder?.entries.delete(name)
}

function setEntry(root: Folder, path: string, entry: TreeEntry, at: Reader) {
  const { parent, name } = partsOf(path)
  const folder = enter(root, parent, at, true)!
  folder.folders.delete(name)
  folder.entries.set(name, entry)
}

function partsOf(path: string): { readonly parent: string; readonly name: string } {
  const slash = path.lastIndexOf("/")
  return { parent: path.slice(0, Math.max(0, slash)), name: path.slice(slash + 1) }
}

/** The id of a folder once its own folders have theirs; what is new is added to `written`, the innermost first. */
function settle(folder: Folder, hash: string, written: Buffer[]): string {
  for (const [name, inner] of folder.folders) {
    // A folder without anything in it is no entry.
    if (hasFiles(inner)) folder.entries.set(name, { mode: FOLDER, object: settle(inner, hash, written) })
  }
  const sorted = [...folder.entries]
    .map(([name, entry]) => ({ name, entry, bytes: encodePath(name) }))
    .toSorted((one, other) => Buffer.compare(sortKey(one), sortKey(other)))
  const content = Buffer.concat(
    sorted.flatMap(({ bytes, entry }) => [
      Buffer.from(`${entry.mode.replace(/^0+/, "")} `),
      bytes,
      Buffer.from([0]),
      Buffer.from(entry.object, "hex"),
    ]),
  )
  const object = createHash(hash).update(`tree ${content.length}\0`).update(content).digest("hex")
  if (object === folder.object) return object
  written.push(content)
  return object
}

function hasFiles(folder: Folder): boolean {
  return folder.entries.size > 0 || [...folder.folders.values()].some(hasFiles)
}

/** Git sorts a folder as if its name ended in a slash. */
function sortKey({ bytes, entry }: { readonly bytes: Buffer; readonly entry: TreeEntry }): Buffer {
  return entry.mode === FOLDER ? Buffer.concat([bytes, Buffer.from("/")]) : bytes
}

/** Trees as a pack: git checks its sum and stores each under the id that it computes itself. */
function packOf(trees: readonly Buffer[], hash: string): Buffer {
  const head = Buffer.alloc(12)
  head.write("PACK", "latin1")
  head.writeUInt32BE(2, 4)
  head.writeUInt32BE(trees.length, 8)
  const body = trees.flatMap((tree) => [packedSize(tree.length), deflateSync(tree, { level: 1 })])
  const whole = Buffer.concat([head, ...body])
  return Buffer.concat([whole, createHash(hash).update(whole).digest()])
}

/** The kind "tree" and the length: four bits of it, then seven a byte, the lowest first. */
function packedSize(length: number): Buffer {
  const bytes = [0x20 | (length & 0x0f)]
  for (let rest = length >> 4; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1]! |= 0x80
    bytes.push(rest & 0x7f)
  }
  return Buffer.from(bytes)
}
