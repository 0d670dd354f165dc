import { text, type RecordedRequest, type Reply } from "../../kit/model.ts"
import { must, sessionOf, type Bench } from "./bench.ts"

type Client = Bench["client"]
export type NewSession = NonNullable<Parameters<Client["session"]["create"]>[0]>

/** How facts about turns speak with the server of their bench. */
export function talkTo(bench: () => Bench) {
  const isIdle = (sessionID: string) => (event: { type: string; properties: any }) =>
    event.type === "session.idle" && event.properties.sessionID === sessionID
  const talk = {
    /** A new session with a title, and so without a title request. */
    create: async (input: NewSession = {}) =>
      (await must(bench().client.session.create({ title: "A session", ...input }))).id,
    /** Prompts and does not wait for the turn. */
    say: (sessionID: string, words: string, more: object = {}) =>
      bench().client.session.promptAsync({ sessionID, parts: [{ type: "text", text: words }], ...more }),
    /** Adds a message without a turn. */
    store: (sessionID: string, words: string, more: object = {}) =>
      must(
        bench().client.session.prompt({ sessionID, noReply: true, parts: [{ type: "text", text: words }], ...more }),
      ),
    /** Runs one turn to its idle. */
    async turn(sessionID: string, words: string, more: object = {}): Promise<void> {
      const from = bench().mark()
      await must(bench().client.session.prompt({ sessionID, parts: [{ type: "text", text: words }], ...more }))
      await talk.idle(sessionID, from)
    },
    isIdle,
    /** The first session.idle of a session since a mark. */
    idle: (sessionID: string, from = 0) => bench().events.waitFor(isIdle(sessionID), 60_000, from),
    /** The first event of that type about a session since a mark. */
    told: (type: string, sessionID: string, from = 0) =>
      bench().events.waitFor((event) => event.type === type && sessionOf(event) === sessionID, 60_000, from),
    messages: (sessionID: string) => must(bench().client.session.messages({ sessionID })),
    /** Who said what, one line a message. */
    texts: async (sessionID: string) =>
      (await talk.messages(sessionID)).map(
        (one) => `${one.info.role}: ${one.parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`,
      ),
    last: async (sessionID: string) => (await talk.messages(sessionID)).at(-1)!,
    lastTool: async (sessionID: string): Promise<any> =>
      (await talk.messages(sessionID)).flatMap((one) => one.parts).findLast((part) => part.type === "tool"),
    /** The model requests, titles aside, of sessions in which a user message has these words. */
    requests: (words: string): RecordedRequest[] =>
      bench().model.requests.filter(
        (request) =>
          request.kind === "work" &&
          request.messages.some((message) => message.role === "user" && message.text.includes(words)),
      ),
    /** The model request that these words began, past or future. */
    asked: (words: string) => bench().model.waitForRequest((request) => request.lastUser === words),
    /** From now on the model holds its answers until they are let go. */
    held(reply: Reply = text("At last.")): { let(): void } {
      const gate = Promise.withResolvers<void>()
      bench().model.script(async () => {
        await gate.promise
        return reply
      })
      return { let: () => gate.resolve() }
    },
  }
  return talk
}
