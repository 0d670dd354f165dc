import { afterEach, describe, expect, test } from "vitest"
import type { DoctorReport } from "../../src/core/doctor.ts"
import { openStage, type Stage } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())

const REPORT: DoctorReport = {
  findings: [
    { id: "host", group: "OpenCode", level: "fine", text: "OpenCode 1.18.33 (tested from 1.17.18 to 1.18.33)" },
    {
      id: "lock",
      group: "Files",
      level: "note",
      text: "the lock is held by process 7, which is gone",
      cause: "Whoever needs it next takes it over.",
      repair: "lets go of it",
    },
    {
      id: "identity",
      group: "Git",
      level: "trouble",
      text: "git does not know your name",
      cause: 'A merge is a commit of yours: git config --global user.name "…".',
    },
  ],
}

describe("the doctor", () => {
  test.each([
    [160, 45],
    [80, 24],
    [40, 12],
  ] as const)("%i×%i", async (width, height) => {
    stage = await openStage({ width, height, answers: { "doctor.run": () => REPORT } })
    stage.commands.enter("kagan.doctor.open")
    await stage.settle()
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/doctor-${width}x${height}.txt`)
  })

  test("each sign has the colour of its level, and the words do not", async () => {
    stage = await openStage({ width: 160, height: 45, answers: { "doctor.run": () => REPORT } })
    stage.commands.enter("kagan.doctor.open")
    await stage.settle()
    const theme = stage.app.theme()
    const lines = stage.spans().lines.map(({ spans }) => spans)
    const signOf = (text: string) => {
      const spans = lines.find((line) => line.some((span) => span.text.includes(text)))!
      const at = spans.findIndex((span) => span.text.includes(text))
      expect(spans[at]!.fg).toEqual(theme.text)
      return spans.slice(0, at).findLast((span) => span.text.trim() !== "")?.fg
    }
    expect(signOf("git does not know")).toEqual(theme.error)
    expect(signOf("the lock is held")).toEqual(theme.warning)
    expect(signOf("OpenCode 1.18.33")).toEqual(theme.success)
  })

  test("Enter mends what can be mended, and looks again; on anything else it does nothing", async () => {
    let report = REPORT
    stage = await openStage({
      answers: {
        "doctor.run": () => report,
        "doctor.repair": () => {
          report = { findings: REPORT.findings.filter(({ id }) => id !== "lock") }
          return { text: "let go of the lock" }
        },
      },
    })
    stage.commands.enter("kagan.doctor.open")
    await stage.settle()
    stage.shows("1 trouble, 1 note")
    await stage.press("enter")
    expect(stage.server.asked().map(({ type }) => type)).toEqual(["doctor.run"])
    await stage.press("down", "enter")
    expect(stage.server.asked().map(({ type, id }) => [type, id])).toEqual([
      ["doctor.run", undefined],
      ["doctor.repair", "lock"],
      ["doctor.run", undefined],
    ])
    stage.shows("Kagan doctor: let go of the lock")
    stage.showsNot("which is gone")
  })

  test("what the screen's half knows of itself comes along", async () => {
    stage = await openStage({ hostVersion: "1.18.0", answers: { "doctor.run": () => REPORT } })
    stage.commands.enter("kagan.doctor.open")
    await stage.settle()
    expect(stage.server.asked()).toEqual([{ type: "doctor.run", hostVersion: "1.18.0", version: stage.app.version }])
  })
})

test.each([
  ["1.17.0", "OpenCode 1.17.0 (tested from 1.17.18 to 1.18.33) is older than Kagan needs"],
  ["9.0.0", "OpenCode 9.0.0 (tested from 1.17.18 to 1.18.33) is newer than what Kagan was tested on"],
])("OpenCode %s is told in one line when the board opens, once", async (hostVersion, text) => {
  stage = await openStage({ width: 160, height: 45, hostVersion })
  expect(stage.app.notices.past().map((notice) => notice.text)).toEqual([text])
  stage.host.navigate({ name: "home" })
  stage.host.navigate({ name: "kagan.board" })
  await stage.settle()
  expect(stage.app.notices.past()).toHaveLength(1)
})
