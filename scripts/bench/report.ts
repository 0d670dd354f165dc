/** One figure. `budget` is the most that it may be; without one it is only told. */
export type Figure = {
  readonly name: string
  readonly value: number
  readonly unit: string
  readonly budget?: number
}

/** Prints the figures as a table, or with `--json` as one object a line: `{name, value, unit, budget, ok}`. */
export function report(figures: readonly Figure[]): void {
  const rows = figures.map((figure) => ({
    name: figure.name,
    value: Number(figure.value.toPrecision(4)),
    unit: figure.unit,
    budget: figure.budget ?? null,
    ok: figure.budget === undefined || figure.value <= figure.budget,
  }))
  if (process.argv.includes("--json")) {
    for (const row of rows) console.log(JSON.stringify(row))
    return
  }
  const widest = Math.max(...rows.map((row) => row.name.length))
  for (const { name, value, unit, budget, ok } of rows) {
    const judged = budget === null ? "" : ok ? `within ${budget}` : `OVER ${budget}`
    console.log(`${name.padEnd(widest)}  ${String(value).padStart(10)} ${unit.padEnd(8)} ${judged}`.trimEnd())
  }
}

/** The middle of several measurements. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/**
 * What something costs this process, in milliseconds of processor time: neither the wait for a turn on a busy machine
 * nor the wait for the next frame is counted, the engine's own threads are.
 */
export async function worked(work: () => Promise<unknown>): Promise<number> {
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1_000
}

/** How long something takes, in milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
