import { openBoard, type Board } from "./board.ts"
import { startServer, type HostServer, type ServerOptions } from "./host.ts"
import type { Probe } from "./probe/probe.ts"
import type { Sandbox } from "./sandbox.ts"
import { openTasks, type SeenTasks } from "./tasks.ts"

/** One OpenCode at work on a repository, with a board that has said hello, and the tasks as anybody sees them. */
export interface Window {
  readonly host: HostServer
  readonly board: Board
  readonly seen: SeenTasks
}

/** Opens one on the sandbox; a second time it is a restart, or a second window. The sandbox's config names `probe`. */
export async function openWindow(box: Sandbox, probe: Probe, options?: ServerOptions): Promise<Window> {
  const host = await startServer(box, options)
  // The first request boots the folder's instance, and with it our half.
  await host.client.session.list()
  const board = await openBoard(probe, box.repo.dir, "test", host.pid)
  return { host, board, seen: openTasks(host, board.repo) }
}
