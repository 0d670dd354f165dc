import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Gate from "../../src/shared/prompt-async-gate.ts"
import type * as Slots from "../../src/shared/gate/slots.ts"

export type Patch = { readonly file: string; readonly find: string; readonly put: string }

/**
 * Another copy of the gate's module, with changes: what a second process has, or one with a known fault. Fails when
 * the text to change is not found, so that a fault is never tested against a source that no longer has its place.
 */
export async function copyOfGate(
  patches: readonly Patch[],
): Promise<{ gate: typeof Gate; slots: typeof Slots; dispose: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), "kagan-gate-"))
  const source = join(import.meta.dirname, "../../src")
  await cp(source, join(dir, "src"), { recursive: true })
  await cp(join(source, "../node_modules/@opencode-ai/sdk"), join(dir, "node_modules/@opencode-ai/sdk"), {
    recursive: true,
    dereference: true,
  })
  for (const { file, find, put } of patches) {
    const path = join(dir, "src", file)
    const text = await readFile(path, "utf8")
    if (text.split(find).length !== 2) throw new Error(`${file} does not have this text exactly once: ${find}`)
    await writeFile(path, text.replace(find, put))
  }
  const gate = (await import(/* @vite-ignore */ join(dir, "src/shared/prompt-async-gate.ts"))) as typeof Gate
  const slots = (await import(/* @vite-ignore */ join(dir, "src/shared/gate/slots.ts"))) as typeof Slots
  return { gate, slots, dispose: () => rm(dir, { recursive: true, force: true }) }
}

/** A map of sessions of its own, as another process has one. */
export const OWN_MAP: Patch = {
  file: "shared/gate/slots.ts",
  find: 'Symbol.for("kagan/prompt-gate@1")',
  put: 'Symbol("a map of its own")',
}
