import { createSemaphore } from '../postgres/semaphore.ts';

/** First looks of claims take at most this share of the connections. Round trips that run anyway do not count. */
const FIRST_LOOKS = 0.6;

/** This number of looks that nobody woke runs at once. The other connections serve the other verbs. */
export const AT_ONCE = 3;

/** How many lines look at once at queues that their claims visit, in a database with this number of connections. */
export const createPaces = (connections: number) => ({
  /** Thousands of claims that come at once leave connections to other verbs. */
  first: createSemaphore(Math.ceil(connections * FIRST_LOOKS)),
  /** 300 claims of 16 queues each would otherwise look at 300 of them at once. */
  next: createSemaphore(AT_ONCE),
});

export type Paces = ReturnType<typeof createPaces>;
