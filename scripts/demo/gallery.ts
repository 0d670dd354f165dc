import { JOBS, type Job } from "./jobs.ts"

/** The tasks that the pictures show beside those of the demo, in the order in which they are written. */
export const CAKES = "Put cakes on the menu"
export const HOURS = "Put up the opening hours"
export const BREW = "Brew sencha at 70 degrees"
export const CLOSED = "Say when we are closed"

const plain = {
  mode: "autonomous",
  modeReason: "Small, and easy to see in the diff.",
  summary: "The change does what was agreed.",
  findings: [],
} as const

const cakes: Job = {
  ...plain,
  match: /cakes/i,
  understanding: "The menu holds teas only. Cakes stand beside them, with a price each.",
  decisions: [{ question: "A list of their own?", assumption: "Yes, beside the teas.", required: true }],
  instruction: "Export a list of cakes from src/menu.js.",
  file: "src/menu.js",
  content: `export const menu = [
  { name: "Sencha", cents: 420 },
  { name: "Oolong", cents: 510 },
]

export function price(name) {
  const tea = menu.find((one) => one.name === name)
  return tea === undefined ? undefined : tea.cents
}

export const cakes = [
  { name: "Castella", cents: 380 },
  { name: "Dorayaki", cents: 350 },
]
`,
  done: "The menu has two cakes.",
}

const hours: Job = {
  ...plain,
  match: /opening hours/i,
  understanding: "The hours are known to nobody but the door. The page needs them.",
  decisions: [{ question: "Are Sundays different?", assumption: "Yes, from noon on.", required: true }],
  instruction: "Export the opening hours from src/hours.js.",
  file: "src/hours.js",
  content: `export const hours = {
  weekdays: ["9:00", "18:00"],
  saturday: ["9:00", "20:00"],
  sunday: ["12:00", "18:00"],
}
`,
  todos: ["Read what is there", "Write src/hours.js", "Name the holidays", "Extend the tests"],
  done: "The hours are in src/hours.js.",
}

const brew: Job = {
  ...plain,
  match: /sencha/i,
  understanding: "All teas are brewed at 100 °C. Green tea wants less.",
  decisions: [{ question: "In degrees Celsius?", assumption: "Yes.", required: true }],
  instruction: "Give each tea its temperature in src/brew.js.",
  file: "src/brew.js",
  content: `export const celsius = { Sencha: 70, Oolong: 90 }
`,
  todos: ["Look up the teas", "Write src/brew.js", "Run the tests"],
  command: "npm test -- --watch=false",
  done: "Each tea has its temperature.",
}

const closed: Job = {
  ...plain,
  match: /closed/i,
  understanding: "Who comes on a closed day should read so before they stand at the door.",
  decisions: [{ question: "Which days?", assumption: "Mondays and public holidays.", required: true }],
  instruction: "Add isClosed(day) to src/hours.js.",
  file: "src/hours.js",
  content: `export const isClosed = (day) => day.getDay() === 1
`,
  done: "isClosed(day) says it.",
}

/** One whose text refers to another comes before that one: the first that recognises the text is taken. */
export const GALLERY: readonly Job[] = [cakes, ...JOBS.slice(0, -1), closed, hours, brew, ...JOBS.slice(-1)]
