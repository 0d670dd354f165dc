/** One event of the host, with the directory of its instance where the stream tells it. */
export interface HostEvent {
  readonly type: string
  readonly properties: any
  readonly directory?: string
}

export interface Events {
  /** Everything heard so far, in order. */
  readonly all: readonly HostEvent[]
  of(type: string): HostEvent[]
  /** The first event, past or future, that matches; `from` skips events already heard (an earlier `all.length`). */
  waitFor(matches: string | ((event: HostEvent) => boolean), ms?: number, from?: number): Promise<HostEvent>
  close(): void
}

/** Opens the event stream of one directory, or of all instances, and answers when the host says it is connected. */
export async function openEvents(url: string, directory?: string): Promise<Events> {
  const closing = new AbortController()
  const address =
    directory === undefined ? `${url}/global/event` : `${url}/event?directory=${encodeURIComponent(directory)}`
  const response = await fetch(address, { signal: closing.signal })
  if (!response.ok || !response.body) throw new Error(`no event stream at ${address}: ${response.status}`)

  const all: HostEvent[] = []
  const waiting = new Set<() => void>()
  let over: string | undefined

  async function read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder()
    let rest = ""
    const reader = body.getReader()
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      rest += decoder.decode(part.value, { stream: true })
      const blocks = rest.split("\n\n")
      rest = blocks.pop()!
      for (const block of blocks) {
        const data = block
          .split("\n")
          .filter((line) => line.startsWith("data:"))
          .map((line) => line.slice(5).trim())
          .join("\n")
        if (data) all.push(readEvent(JSON.parse(data)))
      }
      for (const look of waiting) look()
    }
  }
  void read(response.body)
    .then(
      () => (over = "the stream ended"),
      (error: unknown) => (over = String(error)),
    )
    .then(() => {
      for (const look of waiting) look()
    })

  const events: Events = {
    all,
    of: (type) => all.filter((event) => event.type === type),
    waitFor: (matches, ms = 90_000, from = 0) =>
      new Promise((resolve, reject) => {
        const test = typeof matches === "string" ? (event: HostEvent) => event.type === matches : matches
        const done = () => {
          clearTimeout(timer)
          waiting.delete(look)
        }
        const fail = (why: string) => {
          done()
          const heard = all.slice(-30).map((event) => event.type)
          reject(new Error(`${why}; waited for ${matches}; last events: ${heard.join(", ") || "none"}`))
        }
        const look = () => {
          const found = all.slice(from).find(test)
          if (found) {
            done()
            resolve(found)
          } else if (over) {
            fail(over)
          }
        }
        const timer = setTimeout(() => fail(`no such event within ${ms} ms`), ms)
        waiting.add(look)
        look()
      }),
    close: () => closing.abort(),
  }
  await events.waitFor("server.connected")
  return events
}

/** The global stream wraps its events; both shapes become one. */
function readEvent(raw: any): HostEvent {
  const event = raw.payload ?? raw
  return { ...event, ...(raw.directory === undefined ? {} : { directory: raw.directory }) }
}
