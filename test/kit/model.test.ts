import { afterEach, expect, test } from "vitest"
import { defaultKaganScript, firstAddedLine } from "./model-script.ts"
import { cut, failure, hang, sequence, startModel, text, toolCalls, type Model } from "./model.ts"

let model: Model | undefined
afterEach(async () => {
  await model?.dispose()
  model = undefined
})

function ask(one: Model, content: string, tools: string[] = [], signal?: AbortSignal): Promise<Response> {
  return fetch(`${one.url}/chat/completions`, {
    method: "POST",
    // The model ends each connection; a client that kept one would meet it closed.
    headers: { "content-type": "application/json", connection: "close" },
    ...(signal ? { signal } : {}),
    body: JSON.stringify({
      model: "m1",
      stream: true,
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content },
      ],
      tools: tools.map((name) => ({ type: "function", function: { name, parameters: {} } })),
    }),
  })
}

/** The choices of a stream, and the words and tool calls in it. */
async function read(response: Response) {
  const events = (await response.text())
    .split("\n\n")
    .filter((event) => event.startsWith("data: {"))
    .map((event) => JSON.parse(event.slice("data: ".length)).choices[0])
    .filter(Boolean)
  return {
    text: events.map((choice) => choice.delta.content ?? "").join(""),
    calls: events.flatMap((choice) => choice.delta.tool_calls ?? []).map((call) => call.function),
    finish: events.findLast((choice) => choice.finish_reason)?.finish_reason,
  }
}

test("answers with text, and records the request", async () => {
  model = await startModel(() => text("Hello there"))
  expect(await read(await ask(model, "Hi", ["bash"]))).toEqual({ text: "Hello there", calls: [], finish: "stop" })
  expect(model.requests[0]).toMatchObject({
    n: 1,
    kind: "work",
    model: "m1",
    system: "Be short.",
    tools: ["bash"],
    lastUser: "Hi",
  })
  expect(model.requests[0]!.outcome).toBe("answered")
})

test("answers with several tool calls at once", async () => {
  model = await startModel(() =>
    toolCalls({ name: "read", args: { filePath: "a" } }, { name: "glob", args: { pattern: "*" } }),
  )
  const answer = await read(await ask(model, "Hi"))
  expect(answer.finish).toBe("tool_calls")
  expect(answer.calls).toEqual([
    { name: "read", arguments: '{"filePath":"a"}' },
    { name: "glob", arguments: '{"pattern":"*"}' },
  ])
})

test("the kind of a request is told by its tools", async () => {
  model = await startModel(() => text("ok"))
  for (const tools of [["kagan_intake"], ["read", "kagan_findings"], ["kagan_create_tasks"], ["bash"]]) {
    await (await ask(model, "Hi", tools)).text()
  }
  expect(model.requests.map((request) => request.kind)).toEqual(["intake", "validator", "plan", "work"])
  expect(model.count("intake")).toBe(1)
  expect(model.count()).toBe(4)
})

test("a sequence fails first and then answers, with retry-after on the way", async () => {
  model = await startModel(sequence(failure(429, { retryAfter: 2 }), failure(401), failure(500), text("at last")))
  const limited = await ask(model, "1")
  expect([limited.status, limited.headers.get("retry-after")]).toEqual([429, "2"])
  expect((await ask(model, "2")).status).toBe(401)
  expect((await ask(model, "3")).status).toBe(500)
  expect((await read(await ask(model, "4"))).text).toBe("at last")
  expect((await read(await ask(model, "5"))).text).toBe("at last")
})

test("a cut stream breaks for the client after what was said", async () => {
  model = await startModel(() => cut("half a sen"))
  const reader = (await ask(model, "Hi")).body!.getReader()
  let said = ""
  const drain = async () => {
    for (let part = await reader.read(); !part.done; part = await reader.read())
      said += new TextDecoder().decode(part.value)
  }
  await expect(drain()).rejects.toThrow()
  expect(said).toContain("half a sen")
  expect(model.requests[0]!.outcome).toBe("cut")
})

test("a hung stream stays open until the client goes", async () => {
  model = await startModel(() => hang("thinking"))
  const gone = new AbortController()
  await ask(model, "Hi", [], gone.signal)
  expect(model.open()).toBe(1)
  gone.abort()
  const request = await model.waitForRequest((one) => one.outcome === "client gone")
  expect(request.n).toBe(1)
  expect(model.open()).toBe(0)
})

test("an answer can be held until the test lets it go, and something can happen at the n-th request", async () => {
  const held = Promise.withResolvers<void>()
  model = await startModel(async (request) => {
    if (request.lastUser === "second") await held.promise
    return text(request.lastUser)
  })
  const seen: string[] = []
  model.at(2, (request) => {
    seen.push(request.lastUser)
    held.resolve()
  })
  await (await ask(model, "first")).text()
  await (await ask(model, "second")).text()
  expect(seen).toEqual(["second"])
})

test("a script that throws fails the test at dispose", async () => {
  const broken = await startModel(() => {
    throw new Error("no answer for this")
  })
  expect((await ask(broken, "Hi")).status).toBe(500)
  await expect(broken.dispose()).rejects.toThrow("no answer for this")
})

test("the default script cites a line that the diff added", async () => {
  const diff = [
    "diff --git a/x.ts b/x.ts",
    "--- a/x.ts",
    "+++ b/x.ts",
    "@@ -1,3 +4,4 @@",
    " kept",
    "-old",
    "+new",
    " kept",
  ].join("\n")
  expect(firstAddedLine(diff)).toEqual({ file: "x.ts", line: 5, text: "new" })
  model = await startModel(defaultKaganScript())
  const answer = await read(await ask(model, `Review this.\n${diff}`, ["kagan_findings"]))
  expect(JSON.parse(answer.calls[0].arguments).findings[0].location).toBe("x.ts:5")
})
