import "@opentui/solid/preload"

// JSX can be loaded only behind the preload.
await import("./board/measure.tsx")
