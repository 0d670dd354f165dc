import { defineConfig } from "vitest/config"
import solid from "vite-plugin-solid"

const unitFolders = ["core", "shared", "server", "tui", "guards", "kit", "scripts"]
const long = process.env.KAGAN_TEST_LONG === "1"
const pattern = (folder: string) => `test/${folder}/**/*${long ? ".long" : ""}.test.{ts,tsx}`
const exclude = long ? [] : ["**/*.long.test.{ts,tsx}"]

/** Solid as the host runs it: JSX for OpenTUI's renderer, and one reactive (browser) build of solid-js for everybody. */
const conditions = ["bun", "browser", "import", "default"]

export default defineConfig({
  plugins: [solid({ solid: { generate: "universal", moduleName: "@opentui/solid" }, hot: false, dev: false })],
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    environment: "node",
    pool: "forks",
    maxWorkers: 2,
    // Longer than any wait inside a test, so that the wait fails first and says what it saw instead.
    testTimeout: long ? 900_000 : 150_000,
    hookTimeout: 180_000,
    setupFiles: ["test/kit/setup.ts"],
    teardownTimeout: 20_000,
    server: { deps: { inline: [/zod/, /solid-js/, /@opentui\/solid/, /@opentui\/keymap/] } },
    projects: [
      {
        extends: true,
        test: { name: "unit", include: unitFolders.map(pattern), exclude, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: {
          name: "host",
          include: [pattern("host")],
          exclude,
          testTimeout: long ? 900_000 : 240_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "terminal",
          include: [pattern("terminal")],
          exclude,
          testTimeout: long ? 900_000 : 300_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
