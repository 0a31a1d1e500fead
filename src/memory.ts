import { overloaded } from './errors.ts';

/*
 * One budget for the bytes in flight of a replica: bodies, answers and requests that wait. Three shares keep them apart,
 * so that no kind of load takes the memory of another:
 *
 *   large ...... a half: bodies and answers above SMALL_BYTES
 *   waiting .... three eighths: requests that wait for a job, or for the end of one
 *   small ...... an eighth: bodies that are arriving, and answers that are written, up to SMALL_BYTES. Those of clients
 *                who behave pass through in milliseconds, so they find room whatever the large ones do
 *
 * What is held is an estimate with a margin (COPIES). What was released may stay in the process until the next garbage
 * collection.
 */
const SHARES = { large: 1 / 2, waiting: 3 / 8, small: 1 / 8 };

export type Share = keyof typeof SHARES;

export const SMALL_BYTES = 16 * 1024;

/** For each byte of a body or an answer, the bytes that it takes at its worst moment. bench/attack shows whether it holds. */
export const COPIES = 3;

/** A request that waits, with its connection. */
export const WAITING_BYTES = 10 * 1024;

/** The largest body, and about the largest answer. */
export const LARGEST_BYTES = 16 * 2 ** 20;

/** With less, a replica could never take the largest body. */
export const LEAST_MEMORY_BYTES = (LARGEST_BYTES * COPIES) / SHARES.large;

/** What one request holds of the budget. */
export class Hold {
  readonly #used: Record<Share, number>;
  readonly #maxBytes: number;
  readonly #held: Record<Share, number> = { large: 0, waiting: 0, small: 0 };
  #isReleased = false;

  constructor(used: Record<Share, number>, maxBytes: number) {
    this.#used = used;
    this.#maxBytes = maxBytes;
  }

  /** Takes more. @throws Refusal `overloaded`, and takes nothing, when the share has no room for it */
  take(bytes: number, share: Share = 'large'): void {
    if (this.#used[share] + bytes > this.#maxBytes * SHARES[share]) throw overloaded();
    this.add(bytes, share);
  }

  /**
   * Takes room for a number of bytes that are read from the database, with their copies: up to `wish`, but never more than
   * half of what is free. Returns the number, or undefined when it is less than SMALL_BYTES.
   */
  takeUpTo(wish: number): number | undefined {
    const free = this.#maxBytes * SHARES.large - this.#used.large;
    const bytes = Math.floor(Math.min(wish, free / 2 / COPIES));
    if (bytes < Math.min(wish, SMALL_BYTES)) return undefined;
    this.add(bytes * COPIES);
    return bytes;
  }

  /** Takes more even beyond the share: it is there already. */
  add(bytes: number, share: Share = 'large'): void {
    if (this.#isReleased) return;
    this.#held[share] += bytes;
    this.#used[share] += bytes;
  }

  /** Gives all back. What is added later is not counted any more. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    for (const share of Object.keys(this.#held) as Share[]) this.#used[share] -= this.#held[share];
  }
}

export const DEFAULT_MEMORY_BYTES = 256 * 2 ** 20;

export function createMemory(maxBytes = DEFAULT_MEMORY_BYTES) {
  const used: Record<Share, number> = { large: 0, waiting: 0, small: 0 };
  return {
    hold: () => new Hold(used, maxBytes),
    /** The bytes that are held now. */
    used: (): number => used.large + used.waiting + used.small,
    /** Each share: the bytes that are held of it, and the most that it may hold. */
    shares: (): Record<Share, { used: number; most: number }> => ({
      large: { used: used.large, most: maxBytes * SHARES.large },
      waiting: { used: used.waiting, most: maxBytes * SHARES.waiting },
      small: { used: used.small, most: maxBytes * SHARES.small },
    }),
  };
}

export type Memory = ReturnType<typeof createMemory>;
