import type { TuiPluginModule } from "@opencode-ai/plugin/tui"
import type { Session } from "@opencode-ai/sdk/v2"
import { AppProvider, BOARD_ROUTE, createApp, REVIEW_ROUTE } from "./tui/app.tsx"
import { registerKeys } from "./tui/board/bindings.tsx"
import { BoardScreen } from "./tui/board/board.tsx"
import { createCommands } from "./tui/board/commands.tsx"
import { sessionReader } from "./tui/client.ts"
import { ReviewScreen } from "./tui/review/screen.tsx"
import { registerSurfaces } from "./tui/surfaces.tsx"
import { systemTime } from "./tui/time.ts"
import { Guarded } from "./tui/ui/boundary.tsx"

declare const __KAGAN_VERSION__: string

/** The TUI half: it shows and asks. Wiring only. */
const plugin: TuiPluginModule & { id: string } = {
  id: "opencode-kagan",
  async tui(api, options, meta) {
    const app = createApp({
      host: api,
      reader: sessionReader(api.client),
      version: typeof __KAGAN_VERSION__ === "string" ? __KAGAN_VERSION__ : "0.0.0",
      hostVersion: api.app.version,
      spec: meta.spec,
      attached: process.argv.slice(2).find((word) => !word.startsWith("-")) === "attach",
      options,
      time: systemTime,
      env: process.env,
    })
    const commands = createCommands(app)

    const take = ({ properties }: { properties: { info: Session } }) => app.board.take(properties.info)
    api.event.on("session.created", take)
    api.event.on("session.updated", take)
    api.event.on("session.deleted", ({ properties }) => app.board.forget(properties.info.id))
    api.event.on("message.part.updated", ({ properties }) => app.heard(properties.part.sessionID))
    api.event.on("todo.updated", ({ properties: { sessionID, todos } }) => {
      const done = todos.filter(({ status }) => status === "completed" || status === "cancelled").length
      app.board.takeProgress(sessionID, { done, total: todos.length })
    })

    api.route.register([
      {
        name: BOARD_ROUTE,
        render: () => (
          <AppProvider app={app}>
            <Guarded name="screen">
              <BoardScreen commands={commands} />
            </Guarded>
          </AppProvider>
        ),
      },
      {
        name: REVIEW_ROUTE,
        render: ({ params }) => (
          <AppProvider app={app}>
            <Guarded name="screen">
              <ReviewScreen commands={commands} sessionID={String(params?.sessionID ?? "")} />
            </Guarded>
          </AppProvider>
        ),
      },
    ])
    registerKeys(app, commands)
    registerSurfaces(app)
    void app.load()
    api.lifecycle.onDispose(() => app.dispose())
  },
}

export default plugin
