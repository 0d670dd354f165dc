import type { Snippet } from "./snippet.ts"

/** Ways to write what a session stores. */
export const metadataWays: readonly Snippet[] = [
  {
    name: "metadata: the host's update",
    code: `import { client } from "./given.ts"
      export const go = () => client.session.update({ sessionID: "ses_1", metadata: { kagan: {} } })`,
    finds: ["stores metadata: Session2.update"],
  },
  {
    name: "metadata: the host's create, through an alias",
    code: `import { client } from "./given.ts"
      const { create: make } = client.session
      export const go = () => make({ metadata: {} })`,
    finds: ["stores metadata: Session2.create"],
  },
  {
    name: "metadata: a body of the first generation",
    code: `import { old } from "./given.ts"
      const body = { title: "x", metadata: {} }
      export const go = () => old.session.update({ path: { id: "ses_1" }, body })`,
    finds: ["stores metadata: Session.update"],
  },
  {
    name: "metadata: an argument made elsewhere",
    code: `import { client } from "./given.ts"
      const given = { sessionID: "ses_1", metadata: {} }
      export const one = () => client.session.update(given)
      export const two = () => client.session.update({ ...given })
      export const three = (more: object) => client.session.update({ sessionID: "ses_1", ...more })
      export const four = () => client.session.update({ sessionID: "ses_1", ["metadata"]: {} })`,
    finds: ["stores metadata: Session2.update ×4", "stores metadata: a computed key"],
  },
  {
    name: "metadata: the call handed on",
    code: `import { client } from "./given.ts"
      export const given = [{ sessionID: "ses_1", metadata: {} }].map((one) => client.session.update.call(client.session, one))
      export const update = client.session["update"]`,
    finds: ["stores metadata: Session2.update ×2"],
  },
  {
    name: "metadata: our own door",
    code: `import { doors } from "./given.ts"
      import type { MetadataDoor } from "../src/shared/host.ts"
      const { metadata: door } = doors
      export const one = () => door.write("ses_1", {})
      export const two = ({ create }: MetadataDoor) => create({ directory: "/", title: "x", metadata: {} })
      export const three = () => Object.values(door)`,
    finds: [
      "entrance: HostDoors.metadata",
      "sink: MetadataDoor.write",
      "raw type: MetadataDoor",
      "sink: MetadataDoor.create",
      "escape: MetadataDoor",
    ],
  },
  {
    name: "metadata: read, and other things stored",
    code: `import { client } from "./given.ts"
      type Title = { title: string }
      export const read = (session: { metadata?: Record<string, unknown> }) => session.metadata?.kagan
      export const one = (more: Title) => client.session.update({ sessionID: "ses_1", ...more })
      export const two = () => client.session.create({ title: "x" })
      export const three = () => client.session.create()
      export const own = { update: (given: { metadata: object }) => given }.update({ metadata: {} })`,
    finds: [],
  },
]
