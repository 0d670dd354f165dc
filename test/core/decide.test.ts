import { describe, expect, test } from "vitest"
import { decide, type Action, type HelperFacts, type LookFacts } from "../../src/core/decide.ts"
import type { Options } from "../../src/core/options.ts"
import type { ChecksSummary, TaskMeta, WakeIntent } from "../../src/core/task.ts"
import { intakeDone, lookFacts, NOW, options, sampleMeta, snapshot } from "./sample.ts"

const intent: WakeIntent = { id: "i", messageID: "msg_1", partID: "prt_1", purpose: "start", text: "go", at: NOW }
const working = (over: Partial<TaskMeta> = {}): TaskMeta =>
  sampleMeta({
    status: "in_progress",
    lastGatedStatus: "in_progress",
    intake: intakeDone(),
    run: { intent: { ...intent, deliveredAt: NOW } },
    ...over,
  })
const reviewing = (over: Partial<TaskMeta> = {}): TaskMeta =>
  working({
    status: "review",
    lastGatedStatus: "review",
    review: { snapshot: snapshot(), findings: 0, ruled: 0, fix: 0 },
    ...over,
  })
const pointer = { state: "running" as const, sessionID: "ses_h", generation: 1, attempt: 1, at: NOW }
const child = (over: Partial<HelperFacts> = {}): HelperFacts => ({
  exists: true,
  activity: { kind: "idle" },
  reported: false,
  prompted: true,
  refused: [],
  ...over,
})
const finished = { kind: "finished" as const, messageID: "msg_2", at: NOW, text: "done" }

const aCheck = { name: "tests", command: "true" }
const checked = (over: Partial<ChecksSummary>): TaskMeta =>
  reviewing({
    review: {
      snapshot: snapshot(),
      checks: { state: "done", passed: 0, failed: 0, notRun: 0, at: NOW, ...over },
      findings: 0,
      ruled: 0,
      fix: 0,
    },
  })

type Row = readonly [
  rule: string,
  meta: TaskMeta,
  facts: Partial<LookFacts>,
  expected: readonly Action[],
  options?: Partial<Options>,
]

const rows: readonly Row[] = [
  ["checks come before the reviewer", reviewing(), {}, [{ kind: "run_checks" }], { checks: [aCheck] }],
  ["no reviewer while checks run", checked({ state: "running" }), { checksClaimAlive: true }, [], { checks: [aCheck] }],
  [
    "checks of a dead process run again",
    checked({ state: "running" }),
    { checksClaimAlive: false },
    [{ kind: "run_checks" }],
    { checks: [aCheck] },
  ],
  [
    "checks that began run again also where none is configured any more",
    checked({ state: "running" }),
    { checksClaimAlive: false },
    [{ kind: "run_checks" }],
  ],
  [
    "not beside a command of theirs that a dead process left",
    checked({ state: "running" }),
    { checksClaimAlive: false, command: true },
    [],
    { checks: [aCheck] },
  ],
  ["no checks without the folder", reviewing(), { worktree: "missing" }, [], { checks: [aCheck] }],
  [
    "failed checks do not keep the reviewer",
    checked({ state: "done", failed: 2 }),
    {},
    [{ kind: "spawn_helper", role: "validator", attempt: 1 }],
    { checks: [aCheck] },
  ],
  [
    "a never gated task is seeded, not judged",
    sampleMeta({ lastGatedStatus: undefined, status: "done" }),
    {},
    [{ kind: "seed" }],
  ],
  ["a foreign wish is judged", sampleMeta({ status: "in_progress" }), {}, [{ kind: "judge", wish: "in_progress" }]],
  [
    "a queued card waits",
    sampleMeta({
      status: "in_progress",
      intake: intakeDone(),
      awaiting: { wish: "in_progress", text: "queued", since: NOW },
    }),
    {},
    [],
  ],
  [
    "a queued card is judged again when a place is free",
    sampleMeta({
      status: "in_progress",
      intake: intakeDone(),
      awaiting: { wish: "in_progress", text: "queued", since: NOW },
    }),
    { mayStart: true },
    [{ kind: "judge", wish: "in_progress" }],
  ],
  ["a read-only task is left alone", sampleMeta({ status: "done" }), { readOnly: true }, []],
  ["a trashed task is left alone", sampleMeta({ trashedAt: NOW }), {}, []],
  ["an archived task is left alone", sampleMeta({ archivedAt: NOW }), {}, []],
  ["a task of which only the record is left is left alone", sampleMeta(), { source: "record" }, []],
  ["checks that run go on as long as their snapshot is under review", reviewing(), { occupied: "checks" }, []],
  [
    "the checks of a card that went back to Backlog are ended",
    reviewing({ status: "backlog", lastGatedStatus: "backlog" }),
    { occupied: "checks" },
    [{ kind: "end_commands" }],
  ],
  [
    "those of a card in the trash as well",
    reviewing({ trashedAt: 1 }),
    { occupied: "checks" },
    [{ kind: "end_commands" }],
  ],
  [
    "those of a card that is reviewed again as well",
    reviewing({ review: undefined }),
    { occupied: "checks" },
    [{ kind: "end_commands" }],
  ],
  [
    "a wish is judged while checks run",
    reviewing({ status: "backlog" }),
    { occupied: "checks" },
    [{ kind: "judge", wish: "backlog" }],
  ],
  ["but not while it is merged", reviewing({ status: "backlog" }), { occupied: "merge" }, []],
  [
    "a setup that runs goes on in Backlog",
    sampleMeta({ setup: { state: "running", at: 1 } }),
    { occupied: "setup" },
    [],
  ],
  [
    "the setup of an archived card is ended",
    sampleMeta({ archivedAt: 1 }),
    { occupied: "setup" },
    [{ kind: "end_commands" }],
  ],
  ["a task with a long action under way is left alone", sampleMeta(), { occupied: "merge" }, []],

  ["intake starts by itself", sampleMeta(), {}, [{ kind: "spawn_helper", role: "intake", attempt: 1 }]],
  ["no intake where it is switched off", sampleMeta(), {}, [], { intake: { enabled: false, retries: 1 } }],
  [
    "setup runs once where it is configured",
    sampleMeta({ setup: undefined, intake: intakeDone() }),
    {},
    [{ kind: "run_setup" }],
    { worktree: { branchPrefix: "kagan", copy: [], setup: ["npm ci"], filters: [], setupTimeout: 1 } },
  ],
  [
    "a worktree that was put back is set up before the agent goes on",
    working({ setup: { state: "running", again: true, at: 1 } }),
    { end: finished, endAfterIntent: true },
    [{ kind: "run_setup" }],
  ],
  [
    "and before anything reads it in Review",
    reviewing({ review: undefined, setup: { state: "running", again: true, at: 1 } }),
    {},
    [{ kind: "run_setup" }],
  ],
  [
    "not while another window does it",
    reviewing({ review: undefined, setup: { state: "running", again: true, at: 1 } }),
    { setupClaimAlive: true },
    [],
  ],
  [
    "where that failed, the person says how to go on",
    reviewing({ review: undefined, setup: { state: "failed", again: true, at: 1 } }),
    {},
    [],
  ],
  [
    "it goes on outside of the backlog",
    reviewing({ setup: { state: "running", again: true, at: 1 } }),
    { occupied: "setup" },
    [],
  ],
  [
    "an old failure of a setup that was waived holds nothing",
    reviewing({ review: undefined, setup: { state: "failed", at: 1 } }),
    {},
    [{ kind: "take_snapshot" }],
  ],
  ["nothing happens without the folder", sampleMeta(), { worktree: "missing" }, []],
  [
    "a claim of a living process is respected",
    sampleMeta({ intake: intakeDone({ state: "claimed", sessionID: undefined }) }),
    { claimAlive: true },
    [],
  ],
  [
    "a claim of a dead process is taken over",
    sampleMeta({ intake: intakeDone({ state: "claimed", sessionID: undefined }) }),
    {},
    [{ kind: "spawn_helper", role: "intake", attempt: 1 }],
  ],
  [
    "a helper that was never asked is asked",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ prompted: false }) } },
    [{ kind: "prompt_helper", role: "intake" }],
  ],
  [
    "a busy helper is waited for",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ activity: { kind: "busy" } }) } },
    [],
  ],
  [
    "a report is collected even while the helper still talks",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ reported: true, activity: { kind: "busy" } }) } },
    [{ kind: "collect_helper", role: "intake" }],
  ],
  [
    "a helper without a report is tried again",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ end: finished }) } },
    [{ kind: "spawn_helper", role: "intake", attempt: 2 }],
  ],
  [
    "and fails after its last try, opening nothing",
    sampleMeta({ intake: intakeDone({ ...pointer, attempt: 2 }) }),
    { helpers: { intake: child({ end: finished }) } },
    [{ kind: "fail_helper", role: "intake", reason: "it ended without a report" }],
  ],
  [
    "C076 a helper that repeats what cannot be read is ended, although it still runs and has tries left",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ activity: { kind: "busy" }, refused: Array(5).fill("Not recorded: no summary") }) } },
    [
      {
        kind: "fail_helper",
        role: "intake",
        reason: "its report could not be read 5 times: Not recorded: no summary",
      },
    ],
  ],
  [
    "a few reports that could not be read are nothing yet",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ activity: { kind: "busy" }, refused: Array(4).fill("Not recorded: no summary") }) } },
    [],
  ],
  [
    "and a report that came at last counts",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ reported: true, refused: Array(6).fill("Not recorded: no summary") }) } },
    [{ kind: "collect_helper", role: "intake" }],
  ],
  [
    "a missing login is not tried again",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ end: { kind: "failed", errorClass: "auth", text: "no key", at: NOW } }) } },
    [{ kind: "fail_helper", role: "intake", reason: "auth: no key" }],
  ],
  [
    "a stopped helper stays stopped",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ end: { kind: "interrupted", reason: "aborted", at: NOW } }) } },
    [{ kind: "fail_helper", role: "intake", reason: "stopped by you" }],
  ],
  ["a helper of which nothing is known is waited for", sampleMeta({ intake: intakeDone({ ...pointer }) }), {}, []],
  [
    "a deleted helper is tried again",
    sampleMeta({ intake: intakeDone({ ...pointer }) }),
    { helpers: { intake: child({ exists: false, activity: { kind: "gone" } }) } },
    [{ kind: "spawn_helper", role: "intake", attempt: 2 }],
  ],

  ["an intent that is not stored is sent", working({ run: { intent } }), { intentStored: false }, [{ kind: "wake" }]],
  [
    "an intent of which nothing is known is offered to the gate, which asks",
    working({ run: { intent } }),
    {},
    [{ kind: "wake" }],
  ],
  [
    "a stored intent is marked and not sent",
    working({ run: { intent } }),
    { intentStored: true },
    [{ kind: "mark_delivered" }],
  ],
  ["a stop before the send stays a stop", working({ run: { intent, stoppedAt: NOW } }), { intentStored: false }, []],
  ["finished work enters review", working(), { end: finished, endAfterIntent: true }, [{ kind: "enter_review" }]],
  [
    "what the person told last is read before Review",
    working(),
    { end: finished, endAfterIntent: true, unheard: true },
    [{ kind: "answer_words", ended: "msg_2" }],
  ],
  ["an end from before the intent is not this turn's", working(), { end: finished, endAfterIntent: false }, []],
  [
    "finished while busy is not over",
    working(),
    { end: finished, endAfterIntent: true, activity: { kind: "busy" } },
    [],
  ],
  ["unknown is not idle", working(), { end: finished, endAfterIntent: true, activity: { kind: "unknown" } }, []],
  [
    "an abort is not done",
    working(),
    { end: { kind: "interrupted", reason: "aborted", at: NOW }, endAfterIntent: true },
    [],
  ],
  [
    "an error is not done",
    working(),
    { end: { kind: "failed", errorClass: "network", text: "x", at: NOW }, endAfterIntent: true },
    [],
  ],
  [
    "a turn in another window is left alone",
    working({ run: { intent } }),
    { elsewhere: "window 2", intentStored: false },
    [],
  ],

  [
    "a snapshot is taken first",
    reviewing({ review: { findings: 0, ruled: 0, fix: 0 } }),
    {},
    [{ kind: "take_snapshot" }],
  ],
  [
    "not while somebody works there",
    reviewing({ review: { findings: 0, ruled: 0, fix: 0 } }),
    { activity: { kind: "busy" } },
    [],
  ],
  [
    "not again after a problem that the person has to solve",
    reviewing({ review: { findings: 0, ruled: 0, fix: 0, problem: "unmerged" } }),
    {},
    [],
  ],
  [
    "the snapshot of an earlier generation does not count",
    reviewing({ generation: 2 }),
    {},
    [{ kind: "take_snapshot" }],
  ],
  ["the validator starts by itself", reviewing(), {}, [{ kind: "spawn_helper", role: "validator", attempt: 1 }]],
  [
    "nothing is reviewed where nothing changed",
    reviewing({ review: { snapshot: snapshot({ files: 0 }), findings: 0, ruled: 0, fix: 0 } }),
    {},
    [],
  ],
  [
    "a merge of a dead process is resolved",
    reviewing({ merge: { state: "claimed", at: NOW } }),
    {},
    [{ kind: "resume_merge" }],
  ],
  [
    "a merge under way is left alone",
    reviewing({ merge: { state: "claimed", at: NOW } }),
    { mergeClaimAlive: true },
    [],
  ],
  ["done stays done", reviewing({ status: "done", lastGatedStatus: "done" }), {}, []],
]

describe("decide", () => {
  for (const [rule, meta, facts, expected, over] of rows) {
    test(rule, () => expect(decide(meta, lookFacts(facts), options(over))).toEqual(expected))
  }
})
