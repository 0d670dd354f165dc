import { existsSync } from "node:fs"
import { readFile, rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import type { NewTask } from "../../src/core/draft.ts"
import { ok } from "../../src/core/result.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { createTasks, type CreateParts } from "../../src/shared/create-task.ts"
import { openStore } from "../../src/shared/store.ts"
import { countEffects, diesAt, draft, NOTHING, refusedWith, three, titles, workshop } from "./create-workshop.ts"

describe("several tasks at once", () => {
  test("are made in their order, with numbers in a row, and wait for each other and for what is on the board", async () => {
    await using shop = await workshop()
    const parts = shop.start()
    await shop.it.repo.git("branch", "next")
    expect((await createTasks(parts, draft([{ title: "Before", description: "" }]))).ok).toBe(true)
    const wanted = three.map((task, index) =>
      index < 2 ? task : { ...task, dependsOn: [1], baseBranch: "next", model: MODEL, agent: "build", scope: "src/ " },
    )
    const made = await createTasks(parts, draft(wanted, "d-2"))
    if (!made.ok) throw new Error(made.error.text)
    expect(made.value.tasks.map(({ title, meta }) => [meta.taskNumber, title, meta.order, meta.dependsOn])).toEqual([
      [2, "Parse the file", 2, undefined],
      [3, "Check it", 3, [2]],
      [4, "Show it", 4, [1, 2, 3]],
    ])
    const [, second, third] = made.value.tasks.map(({ meta }) => meta)
    expect(third).toMatchObject({ baseBranch: "next", model: MODEL, agent: "build", scope: "src/" })
    expect(second).toMatchObject({ baseBranch: "main", descriptionFile: true })
    const file = parts.store.paths.session(second!.sessionID).description
    expect(await readFile(file, "utf8")).toBe("x".repeat(2_000))
    expect(await shop.drafts()).toEqual([])
    expect(await shop.left()).toMatchObject({ sessions: ["Before", ...titles], records: ["1", "2", "3", "4"] })
  })

  test("that are to start go without intake from their first moment, where the reason is one", async () => {
    await using shop = await workshop()
    const parts = shop.start()
    for (const [id, waiver, intake] of [
      ["d-1", " Agreed in the intake of #1 ", { state: "waived", reason: "Agreed in the intake of #1" }],
      ["d-2", "ok", undefined],
    ] as const) {
      const made = await createTasks(parts, { ...draft([three[0]!], id), start: { waiver } })
      expect(made.ok && made.value.tasks[0]!.meta.intake).toEqual(intake && expect.objectContaining(intake))
    }
  })

  test("one that cannot be planned leaves nothing, takes no number, is named, and all are kept", async () => {
    await using shop = await workshop()
    const parts = shop.start()
    const bad: readonly [Partial<NewTask>, string][] = [
      [{ baseBranch: "nowhere" }, "nowhere"],
      [{ title: " \u200b " }, "a title needs at least one visible character"],
      [{ dependsOn: [99] }, "#99, which is not on the board"],
      [{ after: [1] }, "only wait for a task that stands before it"],
      [{ after: [2] }, "only wait for a task that stands before it"],
    ]
    for (const [over, why] of bad) {
      const second: NewTask = { title: "Check it", description: "", ...over }
      const wanted = draft([three[0]!, second, three[2]!])
      const text = await refusedWith(parts, wanted)
      expect(text).toContain(why)
      expect(text.startsWith(`"${second.title.trim()}": `)).toBe(true)
      expect(await shop.left()).toEqual(NOTHING)
      expect(await shop.drafts()).toMatchObject([{ id: "d-1", tasks: wanted.tasks, problem: text }])
    }
    const next = await createTasks(parts, draft([three[0]!]))
    expect(next.ok && next.value.tasks[0]!.meta.taskNumber).toBe(1)
  })

  test("are kept with the reason while another process holds the repository's lock, and made once it is free", async () => {
    await using shop = await workshop()
    const hurried = { ...systemClock, monotonic: () => systemClock.monotonic() * 1_000 }
    const commonDir = join(shop.it.repo.dir, ".git")
    const parts: CreateParts = { ...shop.start(), store: openStore(commonDir, { clock: hurried }) }
    const free = Promise.withResolvers<void>()
    const holding = openStore(commonDir, { clock: systemClock }).withLock(() => free.promise)
    await expect.poll(() => existsSync(join(commonDir, "kagan/lock")), { timeout: 60_000 }).toBe(true)
    const text = await refusedWith(parts, draft(three))
    expect(text).toMatch(/^the repository lock is held by process/)
    expect(await shop.drafts()).toMatchObject([{ id: "d-1", tasks: three, problem: text }])
    free.resolve()
    await holding
    const made = await createTasks(parts, draft(three))
    expect(made.ok && made.value.tasks.map(({ title }) => title)).toEqual(titles)
    expect(await shop.drafts()).toEqual([])
  })

  test.each([
    ["the second worktree", "git add", 2, "Check it"],
    ["the third instance", "instance", 3, "Show it"],
    ["the last session", "session", 3, "Show it"],
    ["the last one's metadata", "metadata", 3, "Show it"],
  ])(
    "%s fails: nothing of the others is left, the draft says which and why, and a second try works",
    async (_, effect, at, title) => {
      await using shop = await workshop()
      let seen = 0
      const parts = shop.start((one) => (one === effect && ++seen === at ? "the disk is full" : undefined))
      const text = await refusedWith(parts, draft(three))
      expect(text).toBe(`"${title}": the disk is full`)
      expect(await shop.left()).toEqual(NOTHING)
      expect(await shop.drafts()).toMatchObject([{ tasks: three, problem: text }])
      const again = await createTasks(parts, draft(three))
      expect(again.ok && again.value.tasks.map(({ meta }) => meta.dependsOn)).toEqual([undefined, [4], [4, 5]])
      expect((await shop.left()).sessions).toEqual(titles)
      expect(await shop.drafts()).toEqual([])
    },
  )

  test("asked for again under their id they are found, by another process too; with other words they are named", async () => {
    await using shop = await workshop()
    const first = shop.start()
    const both = await Promise.all([createTasks(first, draft(three)), createTasks(first, draft(three))])
    expect(both.map((made) => made.ok && made.value.already)).toEqual([false, true])
    const before = await shop.left()
    for (const parts of [first, shop.start()]) {
      const again = await createTasks(parts, draft(three))
      if (!again.ok) throw new Error(again.error.text)
      expect(again.value.already).toBe(true)
      expect(again.value.tasks.map(({ title, meta }) => [meta.taskNumber, title])).toEqual(
        titles.map((title, index) => [index + 1, title]),
      )
      const [one, ...rest] = three
      for (const other of [[{ ...one!, title: "Parse the line" }, ...rest], [one!], three.slice(0, 2).toReversed()]) {
        const refused = await createTasks(parts, draft(other))
        expect(refused).toMatchObject({ ok: false, error: { kind: "made_already", taskNumber: 1 } })
      }
      const [, long] = three
      const longer = [three[0]!, { ...long!, description: `${long!.description}y` }, three[2]!]
      expect(await refusedWith(parts, draft(longer))).toContain("#1 was created when this was sent before")
    }
    expect(await shop.left()).toEqual(before)
    expect(await shop.drafts()).toEqual([])
    // What was deleted for good is not there to be found.
    for (const number of [1, 2, 3]) await first.store.remove(first.store.paths.record(number))
    const anew = await createTasks(first, draft(three))
    expect(anew.ok && [anew.value.already, anew.value.tasks.map(({ meta }) => meta.taskNumber)]).toEqual([
      false,
      [4, 5, 6],
    ])
  })

  test("a process that dies in the middle is finished by the next look (all points: create-task.long)", async () => {
    const effects = await countEffects()
    for (const share of [0.4, 0.75, 1]) await diesAt(Math.round(effects * share))
  })

  test("a file that nobody of ours put into a half-made worktree is not removed with it, and that is said", async () => {
    await using shop = await workshop()
    let folder = ""
    const parts = shop.start((effect) => {
      if (effect !== "session") return undefined
      return "refused"
    })
    const wanted = draft([three[0]!])
    const first = await refusedWith(parts, wanted)
    expect(first).toBe("refused")
    const stubborn: CreateParts = {
      ...parts,
      async ensureInstance(directory) {
        folder = directory
        await Bun.write(join(directory, "notes.txt"), "mine")
        return ok()
      },
    }
    const text = await refusedWith(stubborn, wanted)
    expect(text).toContain("refused (and ")
    expect(text).toContain("notes.txt")
    expect(existsSync(join(folder, "notes.txt"))).toBe(true)
    await rm(folder, { recursive: true })
  })
})

const MODEL = { providerID: "test", modelID: "one" }
