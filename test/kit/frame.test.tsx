import { testRender } from "@opentui/solid"
import { createSignal } from "solid-js"
import { expect, test } from "vitest"

test("a component is rendered as the host renders it, and a signal repaints it", async () => {
  const [count, setCount] = createSignal(1)
  const screen = await testRender(() => <text>{`cards: ${count()}`}</text>, { width: 20, height: 3 })
  try {
    await screen.renderOnce()
    expect(screen.captureCharFrame().split("\n")[0]?.trimEnd()).toBe("cards: 1")
    setCount(2)
    await screen.renderOnce()
    expect(screen.captureCharFrame().split("\n")[0]?.trimEnd()).toBe("cards: 2")
  } finally {
    screen.renderer.destroy()
  }
})
