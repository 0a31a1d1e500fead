import { restAfter } from '../shareOfTime.ts';

/** The time from one due look to the next, if nothing is due earlier. */
const LOOK_MS = 2000;
/**
 * All other replicas plan their look later than the one that looked last: by LATER_MS, and a random part of JITTER_MS.
 * So that one looks first again, and tells them. Then they plan anew, and they seldom look themselves.
 */
const LATER_MS = 500;
const JITTER_MS = 500;
/** When something becomes due, they look later than that one by DUE_AFTER_MS, and a random part of DUE_JITTER_MS. */
const DUE_AFTER_MS = 50;
const DUE_JITTER_MS = 100;
/**
 * When a replica has told that something is due already, the others leave that to it for this long. If it is killed
 * before it has done it, another one does it then: at p50 within 0.3 s (bench/due.mjs).
 */
const LEFT_MS = 200;

const NEVER = Number.POSITIVE_INFINITY;

/** A duty, and in how many milliseconds it is due. */
export interface NextDue {
  duty: string;
  in_ms: number;
}

/**
 * When a replica that dozes looks next for what is due: by its own looks, and by those of the others that it heard of.
 */
export function createNextLook(now: () => number) {
  /** When it looks, whether or not something is due. */
  let lookAt = 0;
  let dueAt = NEVER;
  /** Who looked last (undefined: this replica), and from when on something is due by that look. */
  let last: { looker: string | undefined; dueAt: number } = { looker: undefined, dueAt: NEVER };
  /**
   * Something was due, and not the replica that knew of it has looked, but another one. It stays true until a look
   * finds nothing due.
   */
  let hasPassed = false;

  function note(looker: string | undefined, inMs: number): boolean {
    if (looker !== last.looker && last.dueAt <= now()) hasPassed = true;
    last = { looker, dueAt: now() + inMs };
    const mayMiss = hasPassed;
    if (inMs > 0) hasPassed = false;
    return mayMiss;
  }

  return {
    /** A replica that sleeps looks only when something is due. */
    at: (isAsleep: boolean): number => (isAsleep ? dueAt : Math.min(lookAt, dueAt)),

    /** Whether this replica looked last. */
    leads: () => last.looker === undefined,

    /** The replica begins to doze. */
    begin(): void {
      lookAt = now() + Math.random() * DUE_JITTER_MS;
      dueAt = NEVER;
      last = { ...last, dueAt };
      hasPassed = false;
    },

    /**
     * This replica has looked. Something is due in `inMs`; never: nothing is. The look took `tookMs`. Returns whether a
     * notification may be missed: another replica knew of something due, and may have been killed before it told.
     */
    looked(inMs = NEVER, tookMs = 0): boolean {
      lookAt = now() + Math.max(LOOK_MS, restAfter(tookMs, 'due looks'));
      return note(undefined, inMs);
    },

    /** This replica saw that something is due in `ms`. */
    dueIn(ms: number): void {
      dueAt = now() + ms;
    },

    /** Another replica has looked. Something is due in `inMs`; never: nothing is. Returns the same as `looked`. */
    heard(looker: string, inMs = NEVER): boolean {
      lookAt = now() + LOOK_MS + LATER_MS + Math.random() * JITTER_MS;
      const leftMs = Math.max(inMs + DUE_AFTER_MS, LEFT_MS);
      dueAt = now() + leftMs + Math.random() * DUE_JITTER_MS;
      return note(looker, inMs);
    },
  };
}
