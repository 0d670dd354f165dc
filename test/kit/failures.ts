/** What can be said about something that runs, should a test fail: its logs, its screen. */
type Evidence = () => string

const evidence = new Map<symbol, { label: string; tell: Evidence }>()

/** Keeps something at hand for the report of a failure; the answer takes it away again. */
export function keepEvidence(label: string, tell: Evidence): () => void {
  const key = Symbol(label)
  evidence.set(key, { label, tell })
  return () => void evidence.delete(key)
}

/** All evidence there is now, as text. */
export function allEvidence(): string {
  return [...evidence.values()].map(({ label, tell }) => `──── ${label}\n${tell()}`).join("\n")
}

/** The last lines of a text. */
export function tail(text: string, lines = 40): string {
  return text.split("\n").slice(-lines).join("\n")
}
