import { createServer, type Socket } from "node:net"
import type { AddressInfo } from "node:net"

/**
 * HTTP/1.1 over plain sockets, one request per connection. The HTTP servers of the runtimes buffer, and under bun do not
 * tell when a client has gone away; a scripted model has to hang, to break off in the middle, and to notice both.
 */
export interface WireRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface WireResponse {
  /** Sends the status line and the headers of an answer of unknown length. */
  open(status: number, headers: Readonly<Record<string, string>>): void
  write(text: string): void
  /** Ends a proper answer. */
  end(): void
  /** Breaks the connection after what was written so far has left. */
  cut(): void
  /** Calls back once when the connection is over, whoever ended it. */
  onClose(run: () => void): void
  readonly closed: boolean
}

export interface WireServer {
  readonly port: number
  close(): Promise<void>
}

/** Serves on a free loopback port. */
export async function startWire(handle: (request: WireRequest, response: WireResponse) => void): Promise<WireServer> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.once("close", () => sockets.delete(socket))
    // A reset by the client arrives as an error and then as a close; the close is what matters.
    socket.once("error", () => socket.destroy())
    let received = Buffer.alloc(0)
    const read = (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      const request = parse(received)
      if (!request) return
      socket.off("data", read)
      socket.resume()
      handle(request, responseOn(socket))
    }
    socket.on("data", read)
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", resolve)
  })
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** The request when it has arrived as a whole. */
function parse(bytes: Buffer): WireRequest | undefined {
  const headEnd = bytes.indexOf("\r\n\r\n")
  if (headEnd < 0) return undefined
  const [first, ...rows] = bytes.subarray(0, headEnd).toString("latin1").split("\r\n")
  const [method = "", path = ""] = first!.split(" ")
  const headers: Record<string, string> = {}
  for (const row of rows) {
    const colon = row.indexOf(":")
    headers[row.slice(0, colon).trim().toLowerCase()] = row.slice(colon + 1).trim()
  }
  const rest = bytes.subarray(headEnd + 4)
  if (headers["transfer-encoding"]?.toLowerCase() === "chunked") {
    const body = dechunk(rest)
    return body === undefined ? undefined : { method, path, headers, body }
  }
  const length = Number(headers["content-length"] ?? 0)
  return rest.length < length ? undefined : { method, path, headers, body: rest.subarray(0, length).toString("utf8") }
}

function dechunk(bytes: Buffer): string | undefined {
  const parts: Buffer[] = []
  for (let at = 0; ;) {
    const lineEnd = bytes.indexOf("\r\n", at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.subarray(at, lineEnd).toString("latin1"), 16)
    const start = lineEnd + 2
    if (bytes.length < start + size + 2) return undefined
    if (size === 0) return Buffer.concat(parts).toString("utf8")
    parts.push(bytes.subarray(start, start + size))
    at = start + size + 2
  }
}

function responseOn(socket: Socket): WireResponse {
  return {
    open(status, headers) {
      const rows = Object.entries({ ...headers, "transfer-encoding": "chunked", connection: "close" })
      socket.write(
        `HTTP/1.1 ${status} Scripted\r\n${rows.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
      )
    },
    write(text) {
      const bytes = Buffer.from(text, "utf8")
      if (bytes.length > 0) socket.write(`${bytes.length.toString(16)}\r\n${text}\r\n`)
    },
    end: () => void socket.end("0\r\n\r\n"),
    cut: () => void socket.end(),
    onClose: (run) => void (socket.destroyed ? run() : socket.once("close", run)),
    get closed() {
      return socket.destroyed || !socket.writable
    },
  }
}
