import { describe, expect, it } from "vitest"
import {
  classifyError,
  contextMark,
  needsMore,
  readTail,
  type TailMessage,
  type TailPart,
} from "../../src/core/turn.ts"

const user = (id: string, ...parts: TailPart[]): TailMessage => ({
  info: { id, role: "user", time: { created: 1 } },
  parts: parts.length > 0 ? parts : [{ type: "text", text: "do it" }],
})
const assistant = (id: string, info: Partial<TailMessage["info"]> = {}, ...parts: TailPart[]): TailMessage => ({
  info: { id, role: "assistant", time: { created: 2, completed: 3 }, ...info },
  parts,
})
const open = { time: { created: 2 } }
const tool = (state: object, name = "bash"): TailPart => ({ type: "tool", tool: name, state })
const context = (id: string) =>
  user(id, {
    type: "text",
    text: "x",
    synthetic: true,
    metadata: { kagan: { inject: "i1", seq: 1, source: "a:b", kind: "note" } },
  })
const stop = { finish: "stop" }
const failed = (name: string, data: object = {}) => ({ error: { name, data } })
const compaction = (id: string) => user(id, { type: "compaction" })
const goOn = (id: string) =>
  user(id, { type: "text", text: "Continue", synthetic: true, metadata: { compaction_continue: true } })
const shell = (id: string) =>
  user(id, { type: "text", text: "The following tool was executed by the user", synthetic: true })
const foreign = (id: string) => user(id, { type: "text", text: "from another plugin", synthetic: true })

type Case = [name: string, messages: TailMessage[], live: string, dead: string]

const tell = (messages: TailMessage[], live: boolean) => {
  const tail = readTail(messages, { live })
  const detail =
    tail.kind === "open"
      ? tail.what
      : tail.kind === "interrupted"
        ? tail.reason
        : tail.kind === "failed"
          ? tail.class
          : ""
  return [tail.kind, detail, "messageID" in tail ? tail.messageID : ""].filter(Boolean).join(" ")
}

describe("the end of a transcript, while somebody may run it and when nobody does", () => {
  it.each([
    ["nothing", [], "empty", "empty"],
    ["finished", [user("u"), assistant("a", stop)], "finished a", "finished a"],
    ["unanswered", [user("u")], "open unanswered u", "interrupted host_died u"],
    ["streaming", [user("u"), assistant("a", open)], "open streaming a", "interrupted host_died a"],
    [
      "a tool runs",
      [user("u"), assistant("a", open, tool({ status: "running" }))],
      "open tool a",
      "interrupted host_died a",
    ],
    [
      "a tool of a completed message runs",
      [user("u"), assistant("a", { finish: "tool-calls" }, tool({ status: "pending" }))],
      "open tool a",
      "interrupted host_died a",
    ],
    [
      "between two steps",
      [user("u"), assistant("a", { finish: "tool-calls" }, tool({ status: "completed" }))],
      "interrupted no_finish a",
      "interrupted host_died a",
    ],
    [
      "aborted",
      [
        user("u"),
        assistant("a", failed("MessageAbortedError"), tool({ status: "error", error: "Tool execution aborted" })),
      ],
      "interrupted aborted a",
      "interrupted aborted a",
    ],
    [
      "a dismissed question",
      [
        user("u"),
        assistant(
          "a",
          { finish: "tool-calls" },
          tool({ status: "error", error: "The user dismissed this question" }, "question"),
        ),
      ],
      "interrupted question_dismissed a",
      "interrupted question_dismissed a",
    ],
    [
      "a rejected permission",
      [
        user("u"),
        assistant(
          "a",
          { finish: "tool-calls" },
          tool({ status: "error", error: "The user rejected permission to use this specific tool call." }),
        ),
      ],
      "interrupted permission_rejected a",
      "interrupted permission_rejected a",
    ],
    [
      "too long an answer",
      [user("u"), assistant("a", { finish: "length" })],
      "interrupted output_length a",
      "interrupted output_length a",
    ],
    [
      "too long an answer, as an error",
      [user("u"), assistant("a", failed("MessageOutputLengthError"))],
      "interrupted output_length a",
      "interrupted output_length a",
    ],
    ["a filter", [user("u"), assistant("a", { finish: "content-filter" })], "failed other a", "failed other a"],
    [
      "no key",
      [user("u"), assistant("a", failed("ProviderAuthError", { message: "no key" }))],
      "failed auth a",
      "failed auth a",
    ],
    [
      "an error without completion",
      [user("u"), assistant("a", { ...open, ...failed("APIError", { message: "slow down", statusCode: 429 }) })],
      "failed rate_limit a",
      "failed rate_limit a",
    ],
    [
      "our context after the end",
      [user("u"), assistant("a", stop), context("c"), context("d")],
      "finished a",
      "finished a",
    ],
    ["our context alone", [context("c")], "empty", "empty"],
    ["our context while it waits", [user("u"), context("c")], "open unanswered u", "interrupted host_died u"],
    [
      "a new prompt after the end",
      [user("u"), assistant("a", stop), user("v")],
      "open unanswered v",
      "interrupted host_died v",
    ],
    ["a context of somebody else", [user("u"), assistant("a", stop), foreign("f")], "open unanswered f", "finished a"],
    [
      "compacted by hand after the end",
      [user("u"), assistant("a", stop), compaction("k"), assistant("s", { ...stop, summary: true, parentID: "k" })],
      "finished a",
      "finished a",
    ],
    [
      "compacting",
      [user("u"), assistant("a", stop), compaction("k"), assistant("s", { ...open, summary: true, parentID: "k" })],
      "open streaming s",
      "interrupted host_died s",
    ],
    [
      "compaction asked for",
      [user("u"), assistant("a", stop), compaction("k")],
      "open unanswered k",
      "interrupted host_died k",
    ],
    [
      "compacted in a turn, going on",
      [
        user("u"),
        assistant("a", { finish: "tool-calls" }),
        compaction("k"),
        assistant("s", { ...stop, summary: true, parentID: "k" }),
        goOn("g"),
      ],
      "open unanswered g",
      "interrupted host_died g",
    ],
    [
      "compacted in a turn, finished",
      [
        user("u"),
        assistant("a", { finish: "tool-calls" }),
        compaction("k"),
        assistant("s", { ...stop, summary: true, parentID: "k" }),
        goOn("g"),
        assistant("b", { ...stop, parentID: "g" }),
      ],
      "finished b",
      "finished b",
    ],
    [
      "a compaction that failed",
      [
        user("u"),
        assistant("a", stop),
        compaction("k"),
        assistant("s", { ...failed("MessageAbortedError"), summary: true, parentID: "k" }),
      ],
      "interrupted aborted s",
      "interrupted aborted s",
    ],
    [
      "a shell line after the end",
      [user("u"), assistant("a", stop), shell("h"), assistant("t", { parentID: "h" }, tool({ status: "completed" }))],
      "finished a",
      "finished a",
    ],
    [
      "a shell line that runs",
      [
        user("u"),
        assistant("a", stop),
        shell("h"),
        assistant("t", { ...open, parentID: "h" }, tool({ status: "running" })),
      ],
      "open tool t",
      "interrupted host_died t",
    ],
  ] as Case[])("%s", (_, messages, live, dead) => {
    expect(tell(messages, true)).toBe(live)
    expect(tell(messages, false)).toBe(dead)
  })

  it("a prompt of ours counts as a prompt, however it is marked", () => {
    const woken = user("w", { type: "text", text: "go", synthetic: true, metadata: { kagan: { wake: "i1" } } })
    expect(tell([user("u"), assistant("a", stop), woken], false)).toBe("interrupted host_died w")
  })
})

describe("provenance", () => {
  it.each([
    ["text that looks like it", user("u", { type: "text", text: '{"kagan":{"inject":"i1"}}', synthetic: true })],
    ["metadata without synthetic", user("u", { type: "text", text: "x", metadata: { kagan: { inject: "i1" } } })],
    ["one part of two", user("u", ...context("c").parts, { type: "text", text: "mine" })],
    ["an assistant", { ...context("c"), info: { ...context("c").info, role: "assistant" as const } }],
    ["no part", { ...context("c"), parts: [] }],
  ])("%s is none of ours", (_, message) => expect(contextMark(message)).toBeUndefined())

  it("ours carries where it comes from", () => {
    expect(contextMark(context("c"))).toEqual({ inject: "i1", seq: 1, source: "a:b", kind: "note" })
  })
})

it("asks for more when everything that was read is looked through", () => {
  expect(needsMore([context("c")], false)).toBe(true)
  expect(needsMore([context("c")], true)).toBe(false)
  expect(needsMore([user("u"), context("c")], false)).toBe(false)
})

it.each([
  [{ name: "ProviderAuthError", data: { message: "no key" } }, "auth"],
  [{ name: "APIError", data: { message: "Unauthorized", statusCode: 401 } }, "auth"],
  [{ name: "APIError", data: { message: "Incorrect API key provided" } }, "auth"],
  [{ name: "APIError", data: { message: "You exceeded your current quota", statusCode: 429 } }, "quota"],
  [{ name: "APIError", data: { message: "Payment", statusCode: 402 } }, "quota"],
  [
    { name: "APIError", data: { message: "no", statusCode: 400, responseBody: '{"code":"insufficient_quota"}' } },
    "quota",
  ],
  [{ name: "APIError", data: { message: "Too Many Requests", statusCode: 429 } }, "rate_limit"],
  [{ name: "APIError", data: { message: "Overloaded", statusCode: 529 } }, "rate_limit"],
  [{ name: "ProviderModelNotFoundError", data: {} }, "model_not_found"],
  [{ name: "APIError", data: { message: "The model `x` does not exist", statusCode: 404 } }, "model_not_found"],
  [{ name: "ContextOverflowError", data: { message: "full" } }, "context_overflow"],
  [{ name: "APIError", data: { message: "prompt is too long: 3 tokens", statusCode: 400 } }, "context_overflow"],
  [{ name: "APIError", data: { message: "Bad gateway", statusCode: 502 } }, "network"],
  [{ name: "UnknownError", data: { message: "connect ECONNREFUSED 127.0.0.1:1" } }, "network"],
  [{ name: "UnknownError", data: { message: "what" } }, "other"],
  [undefined, "other"],
  ["just text", "other"],
])("the class of %j is %s", (error, expected) => {
  const { class: found, text } = classifyError(error)
  expect(found).toBe(expected)
  expect(text).not.toBe("")
})
