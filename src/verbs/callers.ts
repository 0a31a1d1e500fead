import type { Caller } from '../caller.ts';

/*
 * What the guard (src/access/guard.ts) adds to requests. A protocol does not set these fields. Without a guard they are left out: then
 * everything is allowed, and nobody signs.
 */

/** Somebody acts. */
export interface Signed {
  /** The caller's name, for the history of jobs and for turns in waits for locks. Undefined: nobody needs a key. */
  by?: string | undefined;
}

/** For a verb that lists, or names something which may belong to another caller. */
export interface Narrowed {
  /** Only what belongs to queues that are like one of these patterns of LIKE. Left out: all. */
  visible?: string[] | null | undefined;
  /** The same as a check of a queue's name. */
  mayUse?: Caller['mayUse'];
}

/** Somebody looks. */
export interface Looks {
  /** Whoever asks: a caller, or a connection. Those who ask take turns. */
  from?: object | undefined;
}

/** Somebody waits. */
export interface Waits {
  /** Is given the function to call when the client is gone. Then the verb ends its wait. */
  onHangup?: ((gone: () => void) => void) | undefined;
}
