import type { OptionRow } from "../../core/options.ts"
import {
  homeRelative,
  settingsOf,
  showOption,
  spellOption,
  targetsOf,
  typedOption,
  type Setting,
  type Settings,
  type SettingsFile,
} from "../../core/settings.ts"
import { openDialog, type App } from "../app.tsx"
import { Choices, DialogFrame, TextDialog, useDialogSpace, type Choice } from "../ui/dialog.tsx"

const asking = new WeakSet<App>()

/** Every option with what it means, its value and where that comes from; Enter changes it. */
export function openSettings(app: App) {
  // Asked for twice in a row, it opens once: a late answer would bring back what was closed meanwhile.
  if (asking.has(app)) return
  asking.add(app)
  void app.ask("settings.read", {}).then((answer) => {
    asking.delete(app)
    if (answer.ok) show(app, answer.value)
    else app.tell({ level: "warning", text: answer.error.text, key: "settings" })
  })
}

function show(app: App, settings: Settings, from?: string) {
  const list = settingsOf(settings)
  const at = list.findIndex(({ row }) => row.path === from)
  openDialog(app, () => <List app={app} settings={settings} list={list} at={Math.max(0, at)} />, "large")
}

function List(props: {
  readonly app: App
  readonly settings: Settings
  readonly list: readonly Setting[]
  readonly at: number
}) {
  const { app, settings } = props
  const space = useDialogSpace("large")
  const widest = Math.max(...props.list.map(({ row }) => row.path.length))
  const choices = props.list.map((setting): Choice => ({
    title: space.width() < 60 ? setting.row.path : setting.row.path.padEnd(widest + 1),
    note: showOption(setting.value),
    key: setting.problem ? "not usable" : sourceOf(setting.from),
    detail: aboutOption(app, setting),
    choose: () => edit(app, settings, setting),
  }))
  return (
    <DialogFrame title="Kagan: settings" size="large" hint="Enter changes it · type to find one · Esc closes">
      <Choices
        choices={choices}
        width={space.width()}
        rows={space.rows()}
        at={props.at}
        placeholder="Type to find an option"
      />
    </DialogFrame>
  )
}

const sourceOf = (file: SettingsFile | undefined) =>
  file === undefined ? "default" : file.half === "tui" ? `${file.scope}, tui.json` : file.scope

function aboutOption(app: App, { row, from, problem }: Setting): string {
  const fallback = row.default === undefined ? "" : ` Default: ${showOption(row.default)}.`
  const place = from ? ` Set in ${homeRelative(from.path, app.env["HOME"])}.` : ""
  const wrong = problem ? `What is set there is not usable: it ${problem}. ` : ""
  return `${wrong}${row.meaning}. Takes ${row.range}; a change counts ${row.effect}.${fallback}${place}`
}

function edit(app: App, settings: Settings, setting: Setting) {
  const { row, value } = setting
  const take = (next: unknown) => chooseFile(app, settings, setting, next)
  const words = row.kind === "boolean" ? ["true", "false"] : row.choices
  if (!words) return openDialog(app, () => <Typed app={app} setting={setting} take={take} />, "large")
  const now = spellOption(row, value)
  openDialog(
    app,
    () => (
      <Words
        setting={setting}
        about={aboutOption(app, setting)}
        choices={words.map((word): Choice => ({
          title: word,
          note: [word === now ? "now" : "", word === spellOption(row, row.default) ? "default" : ""].join(" ").trim(),
          choose: () => take(row.kind === "boolean" ? word === "true" : word),
        }))}
        clear={setting.from ? () => take(undefined) : undefined}
      />
    ),
    "large",
  )
}

function Words(props: {
  readonly setting: Setting
  readonly about: string
  readonly choices: readonly Choice[]
  readonly clear: (() => void) | undefined
}) {
  const space = useDialogSpace("large")
  const clear = props.clear
  const choices = [
    ...props.choices.map((choice) => ({ ...choice, detail: props.about })),
    ...(clear ? [{ title: "Take it out of the file", detail: props.about, choose: clear }] : []),
  ]
  return (
    <DialogFrame title={props.setting.row.path} size="large" hint="Enter takes it · Esc cancels">
      <Choices choices={choices} width={space.width()} rows={space.rows()} filter={false} />
    </DialogFrame>
  )
}

function Typed(props: { readonly app: App; readonly setting: Setting; readonly take: (value: unknown) => void }) {
  const { row, value, from } = props.setting
  const line = row.kind === "texts" ? "One a line. " : row.kind === "json" ? "Written as JSON. " : ""
  return (
    <TextDialog
      title={row.path}
      size="large"
      about={`${aboutOption(props.app, props.setting)} ${line}Nothing at all takes it out of the file.`}
      initial={from ? spellOption(row, value) : ""}
      placeholder={row.default === undefined ? "not set" : `default: ${showOption(row.default)}`}
      hint="Enter takes it · shift+enter or ctrl+j new line · Esc cancels"
      submit={(text) => {
        const typed = typedOption(row, text)
        if ("problem" in typed) return typed.problem
        props.take(typed.value)
        return undefined
      }}
    />
  )
}

/** Into which file it goes is the person's choice wherever there is one. */
function chooseFile(app: App, settings: Settings, setting: Setting, value: unknown) {
  const { row, from } = setting
  if (value === undefined) return from ? write(app, row, from, value) : show(app, settings, row.path)
  const targets = targetsOf(settings, row.path)
  const [only] = targets
  if (only && targets.length === 1) return write(app, row, only, value)
  openDialog(app, () => <Files app={app} row={row} targets={targets} value={value} />, "large")
}

function Files(props: {
  readonly app: App
  readonly row: OptionRow
  readonly targets: readonly SettingsFile[]
  readonly value: unknown
}) {
  const space = useDialogSpace("large")
  const { app, row, value } = props
  const choices = props.targets.map((file): Choice => ({
    title: homeRelative(file.path, app.env["HOME"]),
    note: file.half === "tui" ? `${file.scope}, this screen alone` : file.scope,
    detail: aboutFile(file),
    ...(file.problem === undefined ? {} : { not: file.problem }),
    choose: () => write(app, row, file, value),
  }))
  return (
    <DialogFrame title={`Write ${row.path} into which file?`} size="large" hint="Enter writes it · Esc cancels">
      <Choices choices={choices} width={space.width()} rows={space.rows()} filter={false} />
    </DialogFrame>
  )
}

function aboutFile(file: SettingsFile): string {
  if (file.counts === true) return "Kagan's entry in this file counts now."
  if (file.counts === false) return "It has an entry of Kagan, which another file's entry overrides: no effect here."
  return "It has no entry of Kagan: one is added, with what counts now, and counts from then on if it is the project's."
}

function write(app: App, row: OptionRow, file: SettingsFile, value: unknown) {
  const body = { file: file.path, option: row.path, ...(value === undefined ? {} : { value }) }
  void app.ask("settings.write", body).then((answer) => {
    if (!answer.ok) {
      app.host.ui.dialog.clear()
      return app.tell({ level: "warning", text: answer.error.text, key: "settings" })
    }
    const screen = answer.value.settings.files.find(({ half, counts }) => half === "tui" && counts)
    app.setScreenOptions(screen?.options)
    app.tell({ level: "success", text: answer.value.text, key: "settings" })
    show(app, answer.value.settings, row.path)
  })
}
