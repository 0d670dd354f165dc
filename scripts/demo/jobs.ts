/** What the scripted model knows to do: one entry for each task that the sample project suggests. */
export interface Job {
  /** Recognises the task by what was written for it. */
  readonly match: RegExp
  readonly understanding: string
  readonly decisions: readonly { readonly question: string; readonly assumption: string; readonly required: boolean }[]
  readonly instruction: string
  readonly mode: "autonomous" | "assisted" | "manual"
  readonly modeReason: string
  readonly file: string
  /** The file after the first try, and after one that knows of the first finding. */
  readonly content: string
  readonly better?: string
  readonly done: string
  /** Its to-do list, told before the file is written; the first are then done. */
  readonly todos?: readonly string[]
  /** A command that it wants to run after the file is written. */
  readonly command?: string
  /** What a reviewer says of the first try; a better one is clean. */
  readonly summary: string
  readonly findings: readonly Complaint[]
}

export interface Complaint {
  readonly kind: "misalignment" | "bug" | "uncertainty"
  readonly severity: "low" | "medium" | "high"
  readonly confidence: number
  readonly title: string
  readonly detail: string
  /** A place of its own; without one, the first added line of the diff. */
  readonly location?: string
}

export const SAMPLE_TASK = {
  title: "Greet guests by their name",
  description: "Whoever says their name at the door is greeted by it.",
}

const greet: Job = {
  match: /greet|welcome/i,
  understanding: "greet() takes no argument today. It should take the guest's name and put it into the greeting.",
  decisions: [
    {
      question: "What does a guest hear who gives no name?",
      assumption: "Nobody comes without a name, so nothing special is done.",
      required: true,
    },
    { question: "Is the name translated or shortened?", assumption: "No, it is used as given.", required: false },
  ],
  instruction: "Let greet(name) in src/greet.js return the greeting with the guest's name.",
  mode: "autonomous",
  modeReason: "One function, with a test beside it.",
  file: "src/greet.js",
  content: `/** What a guest hears at the door. */
export function greet(name) {
  return \`Welcome to the teahouse, \${name}\`
}
`,
  better: `/** What a guest hears at the door. */
export function greet(name) {
  const known = name?.trim()
  return known ? \`Welcome to the teahouse, \${known}\` : "Welcome to the teahouse"
}
`,
  done: "greet(name) now puts the guest's name into the greeting.",
  summary: "The greeting has the name in it. A guest without a name is greeted as undefined.",
  findings: [
    {
      kind: "bug",
      severity: "high",
      confidence: 9,
      title: "A guest with no name is welcomed as undefined",
      detail: "greet() without an argument returns “Welcome to the teahouse, undefined”.",
    },
    {
      kind: "uncertainty",
      severity: "low",
      confidence: 5,
      title: "The test was not extended",
      detail: "test/greet.test.js still asks for the greeting without a name.",
      location: "test/greet.test.js:5",
    },
  ],
}

const prices: Job = {
  match: /price|euro/i,
  understanding: "Prices are stored in cents and shown nowhere as money. A price should read like one.",
  decisions: [{ question: "€4.20 or 4,20 €?", assumption: "€4.20, as on the printed menu.", required: true }],
  instruction: "Add inEuros(cents) to src/menu.js.",
  mode: "autonomous",
  modeReason: "A pure function that nothing depends on yet.",
  file: "src/menu.js",
  content: `export const menu = [
  { name: "Sencha", cents: 420 },
  { name: "Oolong", cents: 510 },
]

export function price(name) {
  const tea = menu.find((one) => one.name === name)
  return tea === undefined ? undefined : tea.cents
}

export const inEuros = (cents) => \`€\${(cents / 100).toFixed(2)}\`
`,
  done: "inEuros(420) is “€4.20”.",
  summary: "The change does what was agreed.",
  findings: [],
}

const reservations: Job = {
  match: /reserv|book/i,
  understanding: "There is no notion of a table or of time yet; both have to be invented before one can be reserved.",
  decisions: [
    { question: "How long is a table kept for a guest who is late?", assumption: "Fifteen minutes.", required: true },
    { question: "May one guest reserve two tables?", assumption: "No, one table a guest.", required: true },
  ],
  instruction: "Keep reservations in src/reservations.js, in memory.",
  mode: "assisted",
  modeReason: "It invents words that the rest will have to live with.",
  file: "src/reservations.js",
  content: `const kept = new Map()

/** Answers whether the table was free. */
export function reserve(table, guest) {
  if (kept.has(table)) return false
  kept.set(table, guest)
  return true
}
`,
  done: "reserve(table, guest) keeps a table in memory.",
  summary: "Reservations work, but are never given up.",
  findings: [
    {
      kind: "misalignment",
      severity: "medium",
      confidence: 8,
      title: "A late guest keeps the table for ever",
      detail: "It was agreed that a table is kept for fifteen minutes. Nothing here knows the time.",
    },
  ],
}

const note: Job = {
  match: /(?:)/,
  understanding: "A small change is wanted. The scripted model of this demo does not know this task and writes a note.",
  decisions: [{ question: "Where does the note belong?", assumption: "Into docs/notes.md.", required: true }],
  instruction: "Write one line about the task into docs/notes.md.",
  mode: "autonomous",
  modeReason: "One new file.",
  file: "docs/notes.md",
  content: "# Notes\n\n- Written by the scripted model of the demo.\n",
  done: "The note is written.",
  summary: "One line was added, as agreed.",
  findings: [],
}

/** The first that recognises the text; the last one takes everything. */
export const JOBS: readonly Job[] = [prices, reservations, greet, note]
