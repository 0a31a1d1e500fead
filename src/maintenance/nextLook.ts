import { restAfter } from '../shareOfTime.ts';

/** From one due look to the next, where nothing is due before. */
const LOOK_MS = 2000;
/** Other replicas look so much later than the one that looked last: not all at once, and seldom at all. */
const JITTER_MS = 500;
/** At a time at which something is due they look later, too: by the first of these, and up to the second. */
const DUE_AFTER_MS = 50;
const DUE_JITTER_MS = 100;
/** They leave what is due already to the one that has seen it, for so long. */
const LEFT_MS = 300;

/** A duty, and in how many milliseconds it is due. */
export interface NextDue {
  duty: string;
  in_ms: number;
}

/** When a replica that dozes looks next for what is due: by its own looks, and by those of the others that it heard of. */
export function createNextLook(now: () => number) {
  /** When it looks, whether or not something is due. */
  let lookAt = 0;
  let dueAt = Number.POSITIVE_INFINITY;
  let leads = true;

  return {
    /** A replica that sleeps looks only when something is due. */
    at: (isAsleep: boolean): number => (isAsleep ? dueAt : Math.min(lookAt, dueAt)),

    /** Whether this replica looked last. */
    leads: () => leads,

    /** The replica begins to doze. */
    begin(): void {
      lookAt = now() + Math.random() * DUE_JITTER_MS;
      dueAt = Number.POSITIVE_INFINITY;
    },

    /** This replica has looked. It took so long. */
    looked(tookMs: number): void {
      leads = true;
      lookAt = now() + Math.max(LOOK_MS, restAfter(tookMs, 'due looks'));
    },

    /** By the look of this replica, something is due in so many milliseconds. */
    dueIn(ms: number): void {
      dueAt = now() + ms;
    },

    /** Another replica has looked: something is due in so many milliseconds, or nothing. */
    heard(inMs: number | undefined): void {
      leads = false;
      lookAt = now() + LOOK_MS + Math.random() * JITTER_MS;
      const leftMs = Math.max((inMs ?? Number.POSITIVE_INFINITY) + DUE_AFTER_MS, LEFT_MS);
      dueAt = now() + leftMs + Math.random() * DUE_JITTER_MS;
    },
  };
}
