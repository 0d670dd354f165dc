import { describe, expect, test } from "vitest"
import {
  DEFAULT_OPTIONS,
  judgeOption,
  OPTION_ROWS,
  optionSchema,
  readModel,
  readOptions,
  SCREEN_OPTIONS,
  valueAt,
} from "../../src/core/options.ts"

/** A value that the option takes and that is not its default, and values that it refuses. */
const VALUES: Readonly<Record<string, { readonly good: unknown; readonly bad: readonly unknown[] }>> = {
  inProgressLimit: { good: 50, bad: [0, 51, 1.5, "2", null, Number.NaN] },
  "intake.enabled": { good: false, bad: ["false", 0, null] },
  "intake.agent": { good: "reader", bad: ["", 1, []] },
  "intake.model": { good: "mock/m1/x", bad: ["m1", "/m1", "mock/", 1] },
  "intake.retries": { good: 0, bad: [-1, 11, 0.5, "1"] },
  "validator.agent": { good: "reader", bad: ["", false] },
  "validator.models": { good: ["mock/m1", "mock/m2"], bad: ["mock/m1", ["m1"], [1], {}] },
  "validator.retries": { good: 10, bad: [-1, 11, null] },
  "validator.maxTokens": { good: 1_000, bad: [999, 0, "60000"] },
  "worktree.root": { good: "/tmp/trees", bad: ["trees", "./trees", "", 1] },
  "worktree.branchPrefix": { good: "bot", bad: ["", 1] },
  "worktree.copy": { good: [".env"], bad: [".env", [""], [1]] },
  "worktree.setup": { good: ["npm ci"], bad: ["npm ci", [""], [[]]] },
  "worktree.setupTimeout": { good: 1, bad: [0, -1, "1"] },
  "worktree.filters": { good: ["ab12"], bad: ["ab12", [""], [1]] },
  checks: {
    good: [{ name: "t", command: "npm test" }],
    bad: [{}, ["npm test"], [{ name: "t" }], [{ name: "", command: "x" }]],
  },
  "merge.strategy": { good: "merge", bad: ["rebase", "", true] },
  "sendBack.mode": { good: "fresh", bad: ["new", null] },
  "sendBack.stopThreshold": { good: 1, bad: [0, 0.5] },
  resume: { good: "auto", bad: ["always", true] },
  stallAfter: { good: 1, bad: [0, "600"] },
  pushGuard: { good: false, bad: ["no", 0] },
  attention: { good: false, bad: ["no", 1] },
  mouse: { good: false, bad: ["off", null] },
  updates: { good: false, bad: ["daily", 1] },
}

/** The options object that sets just this one. */
const setting = (path: string, value: unknown) => {
  const [name = "", inner] = path.split(".")
  return { [name]: inner === undefined ? value : { [inner]: value } }
}

test("the table of values names every option, and no other", () => {
  expect(Object.keys(VALUES)).toEqual(OPTION_ROWS.map((row) => row.path))
})

describe.each(OPTION_ROWS)("$path", (row) => {
  const { good, bad } = VALUES[row.path]!

  test("says what it means, what it takes, and its default", () => {
    expect(row.meaning).toMatch(/^[A-Z].{15,}[^.]$/)
    expect(row.range.length).toBeGreaterThan(3)
    expect(row.default).toEqual(valueAt(DEFAULT_OPTIONS, row.path))
    if (row.choices) for (const choice of row.choices) expect(row.range).toContain(`"${choice}"`)
  })

  test("takes a good value, and changes nothing else", () => {
    const read = readOptions(setting(row.path, good))
    expect(read.problems).toEqual([])
    expect(valueAt(read.options, row.path)).toEqual(good)
    for (const other of OPTION_ROWS.filter(({ path }) => path !== row.path)) {
      expect(valueAt(read.options, other.path)).toEqual(other.default)
    }
  })

  test.each(bad.map((value) => [value]))("refuses %j with a message, and the default is used", (value) => {
    const read = readOptions(setting(row.path, value))
    expect(read.options).toEqual(DEFAULT_OPTIONS)
    expect(read.problems).toHaveLength(1)
    expect(read.problems[0]!.option).toBe(row.path)
    expect(read.problems[0]!.text).toContain(`must be ${row.range}`)
    expect(read.problems[0]!.text).toMatch(/; (the default .+ is used|it counts as absent)$/)
    expect(judgeOption(row.path, value)).toHaveProperty("problem")
  })

  test("stands in the schema with its meaning and its default", () => {
    const node = valueAt(optionSchema(), `properties.${row.path.replace(".", ".properties.")}`)
    expect(node).toMatchObject({
      description: row.meaning,
      ...(row.default === undefined ? {} : { default: row.default }),
    })
  })
})

test("what is unknown is named and changes nothing, in a group too, whatever it is called", () => {
  const read = readOptions({
    mice: 1,
    constructor: 1,
    intake: { enabeld: true, toString: 1, retries: 2 },
    mouse: false,
  })
  expect(read.problems).toEqual(
    ["mice", "constructor", "intake.enabeld", "intake.toString"].map((option) => ({
      option,
      text: "there is no such option",
    })),
  )
  expect(read.options).toEqual({ ...DEFAULT_OPTIONS, intake: { enabled: true, retries: 2 }, mouse: false })
})

test.each([[[]], ["x"], [1], [true]])("options that are no object (%j) are named, and defaults are used", (raw) => {
  const { options, problems } = readOptions(raw)
  expect(options).toEqual(DEFAULT_OPTIONS)
  expect(problems).toEqual([{ option: "(all)", text: "the options must be an object; defaults are used" }])
})

test("a group that is no object is named, and its defaults are used", () => {
  const { options, problems } = readOptions({ intake: true, merge: ["squash"] })
  expect(options).toEqual(DEFAULT_OPTIONS)
  expect(problems.map(({ option }) => option)).toEqual(["intake", "merge"])
})

test("no options are the defaults, and reading changes none of them", () => {
  for (const none of [undefined, null, {}])
    expect(readOptions(none)).toEqual({ options: DEFAULT_OPTIONS, problems: [] })
  readOptions({ intake: { retries: 9 }, worktree: { copy: ["a"] } })
  expect(DEFAULT_OPTIONS.intake.retries).toBe(1)
  expect(DEFAULT_OPTIONS.worktree.copy).toEqual([])
})

test("where in a list the trouble is, is said", () => {
  const { problems } = readOptions({ checks: [{ name: "a", command: "x" }, { name: "b" }] })
  expect(problems[0]!.text).toContain("(at 2, command)")
})

test("what may stand in tui.json are options too", () => {
  for (const name of SCREEN_OPTIONS) expect(OPTION_ROWS.map((row) => row.path)).toContain(name)
})

test.each([
  ["a/b", { providerID: "a", modelID: "b" }],
  ["a/b/c", { providerID: "a", modelID: "b/c" }],
  ["a", undefined],
  ["/b", undefined],
  ["a/", undefined],
])("the model %s", (text, model) => expect(readModel(text)).toEqual(model))
