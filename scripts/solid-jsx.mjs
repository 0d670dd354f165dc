// Bundler plugin: compiles `.tsx` to the calls of OpenTUI's Solid, as the host's own loader does for files outside
// node_modules. Installed packages get no such treatment (measured on 1.18.33), so it has to happen here.
import { transformAsync } from "@babel/core"
import typescript from "@babel/preset-typescript"
import solid from "babel-preset-solid"

/** A Rolldown plugin that precompiles the JSX of `.tsx` modules. */
export function solidJsx() {
  return {
    name: "solid-jsx",
    transform: {
      filter: { id: /\.tsx$/ },
      async handler(code, id) {
        const compiled = await transformAsync(code, {
          filename: id,
          configFile: false,
          babelrc: false,
          sourceMaps: true,
          presets: [[solid, { moduleName: "@opentui/solid", generate: "universal" }], [typescript]],
        })
        return { code: compiled.code, map: compiled.map, moduleType: "js" }
      },
    },
  }
}
