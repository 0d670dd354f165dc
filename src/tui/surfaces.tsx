import { Show } from "solid-js"
import { fit } from "../core/text.ts"
import { STATUS_TITLE } from "../core/task.ts"
import { AppProvider, type App } from "./app.tsx"
import { joined, type Segment } from "./ui/segments.ts"
import { RUN_SIGN } from "./ui/signs.ts"
import { colour } from "./ui/line.tsx"

/** Kagan's one line on the host's own screens, and its block in the sidebar of a task's session. */
export function registerSurfaces(app: App) {
  app.host.slots.register({
    order: 90,
    slots: {
      home_bottom: () => (
        <AppProvider app={app}>
          <Show when={summary(app).length > 0}>
            <box flexDirection="row" justifyContent="center" width="100%">
              <Words app={app} segments={summary(app)} />
            </box>
          </Show>
        </AppProvider>
      ),
      sidebar_content: (_context, props: { session_id: string }) => (
        <AppProvider app={app}>
          <Show when={taskOf(app, props.session_id)}>
            {(card) => (
              <box flexDirection="column">
                <Words
                  app={app}
                  segments={[
                    { text: "Kagan", bold: true },
                    {
                      text: ` #${card().entry.meta.taskNumber} ${app.glyphs.dot} ${STATUS_TITLE[card().column()]}`,
                      tone: "muted",
                    },
                  ]}
                />
                <Words
                  app={app}
                  segments={[
                    { text: `${app.glyphs.of(RUN_SIGN[card().run().kind])} `, tone: RUN_SIGN[card().run().kind].tone },
                    { text: fit(card().run().text, 200), tone: "muted" },
                  ]}
                />
                <Words app={app} segments={[{ text: "/kagan goes back to the board", tone: "muted" }]} />
              </box>
            )}
          </Show>
        </AppProvider>
      ),
    },
  })
}

/** A helper's or worker's session belongs to its task. */
function taskOf(app: App, sessionID: string) {
  const own = app.board.card(sessionID)
  if (own) return own
  const helper = app.board.state.helpers[sessionID]
  if (!helper) return undefined
  const { meta } = helper
  const parent =
    "intakeParent" in meta ? meta.intakeParent : "validatorParent" in meta ? meta.validatorParent : meta.workerParent
  return app.board.card(parent)
}

function summary(app: App): Segment[] {
  const { board } = app
  if (board.state.phase !== "ready" || board.total() === 0) return []
  const needing = board.needing().length
  return joined(
    [
      { text: "Kagan", bold: true },
      { text: `${board.count("in_progress")}/${app.options().inProgressLimit} in progress`, tone: "muted" },
      board.count("review") > 0 ? { text: `${board.count("review")} in review`, tone: "muted" } : undefined,
      needing > 0 ? { text: `${needing} ${needing === 1 ? "needs" : "need"} you`, tone: "warning" } : undefined,
      { text: "/kagan", tone: "primary" },
    ],
    ` ${app.glyphs.dot} `,
  )
}

function Words(props: { readonly app: App; readonly segments: readonly Segment[] }) {
  return (
    <text wrapMode="word" fg={props.app.theme().text}>
      {props.segments.map((segment) => (
        <span style={{ fg: colour(props.app.theme(), segment.tone ?? "text"), bold: segment.bold === true }}>
          {fit(segment.text, 200)}
        </span>
      ))}
    </text>
  )
}
