/** An expected outcome as a value: what was asked for, or a reason that a person can read. */
export type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: E }

export function ok(): Result<void, never>
export function ok<T>(value: T): Result<T, never>
export function ok<T>(value?: T): Result<T | undefined, never> {
  return { ok: true, value }
}

export function err<E>(error: E): { readonly ok: false; readonly error: E } {
  return { ok: false, error }
}

/** Ends a switch over a union: a member that nobody handled is a compile error, and a bug at run time. */
export function assertNever(value: never): never {
  throw new Error(`unhandled case: ${JSON.stringify(value)}`)
}
