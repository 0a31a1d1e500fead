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
 * Of each share, a caller takes at most MOST_OF_ONE of what the others have left. So there is always room for another one.
 *
 * What is held is an estimate with a margin (COPIES). What was released may stay in the process until the next garbage
 * collection.
 */
const SHARES = { large: 1 / 2, waiting: 3 / 8, small: 1 / 8 };

export type Share = keyof typeof SHARES;
type Bytes = Record<Share, number>;

const none = (): Bytes => ({ large: 0, waiting: 0, small: 0 });
const shares = Object.keys(SHARES) as Share[];

/** The part that a caller may take of what the others have left. Its first request may take all of that. */
const MOST_OF_ONE = 3 / 4;

/** How much more a caller may take, who has `own` already. `free`: what nobody has. */
export const roomOfOne = (free: number, own: number): number =>
  Math.min(free, MOST_OF_ONE * (free + own) - own);

export const SMALL_BYTES = 16 * 1024;

/**
 * For each byte of a body or an answer, the bytes that it takes at its worst moment. bench/attack shows whether it
 * holds.
 */
export const COPIES = 3;

/** A request that waits, with its connection. */
export const WAITING_BYTES = 10 * 1024;

/** A wait that goes on without a connection: its client hung up. It takes 5.4 KiB of the heap (measured with 5,000). */
export const LEFT_WAIT_BYTES = 6 * 1024;

/** The largest body, and about the largest answer. */
export const LARGEST_BYTES = 16 * 2 ** 20;

/** With less, a replica could never take the largest body. */
export const LEAST_MEMORY_BYTES = (LARGEST_BYTES * COPIES) / SHARES.large;

/** What all requests hold together, and what those of each caller hold. */
interface Budget {
  maxBytes: number;
  used: Bytes;
  callers: Map<string, Bytes>;
}

/** What one request holds of the budget. */
export class Hold {
  readonly #budget: Budget;
  readonly #by: string | undefined;
  readonly #held = none();
  #isReleased = false;

  constructor(budget: Budget, by: string | undefined) {
    this.#budget = budget;
    this.#by = by;
  }

  #free(share: Share): number {
    return this.#budget.maxBytes * SHARES[share] - this.#budget.used[share];
  }

  /** How many bytes it may still take of a share. */
  #room(share: Share): number {
    const free = this.#free(share);
    if (this.#by === undefined) return free;
    const own = this.#budget.callers.get(this.#by)?.[share] ?? 0;
    const isFirst = own === this.#held[share];
    return isFirst ? free : roomOfOne(free, own);
  }

  /** Takes more. @throws Refusal `overloaded`, and takes nothing, when there is no room for it */
  take(bytes: number, share: Share = 'large'): void {
    if (bytes > this.#free(share)) throw overloaded();
    if (bytes > this.#room(share))
      throw overloaded("Requests of this caller use as much of this replica's memory as one caller may.");
    this.add(bytes, share);
  }

  /**
   * Takes room for a number of bytes that are read from the database, with their copies: up to `wish`, but never more
   * than half of what its caller may take. Returns the number, or undefined when it is less than SMALL_BYTES.
   */
  takeUpTo(wish: number): number | undefined {
    const bytes = Math.floor(Math.min(wish, this.#room('large') / 2 / COPIES));
    if (bytes < Math.min(wish, SMALL_BYTES)) return undefined;
    this.add(bytes * COPIES);
    return bytes;
  }

  /** Takes more even beyond the share: it is there already. */
  add(bytes: number, share: Share = 'large'): void {
    if (this.#isReleased) return;
    this.#held[share] += bytes;
    this.#budget.used[share] += bytes;
    if (this.#by !== undefined) this.#addTo(this.#by, bytes, share);
  }

  #addTo(caller: string, bytes: number, share: Share): void {
    const { callers } = this.#budget;
    const own = callers.get(caller) ?? none();
    own[share] += bytes;
    if (shares.every((each) => own[each] === 0)) callers.delete(caller);
    else callers.set(caller, own);
  }

  /** Gives a part back. */
  giveBack(bytes: number, share: Share = 'large'): void {
    this.add(-bytes, share);
  }

  /** Gives all back. What is added later is not counted any more. */
  release(): void {
    if (this.#isReleased) return;
    for (const share of shares) this.giveBack(this.#held[share], share);
    this.#isReleased = true;
  }
}

export const DEFAULT_MEMORY_BYTES = 256 * 2 ** 20;

export function createMemory(maxBytes = DEFAULT_MEMORY_BYTES) {
  const budget: Budget = { maxBytes, used: none(), callers: new Map() };
  const { used } = budget;
  return {
    /** `by` is the caller whose request it is for. Work for several callers at once has none. */
    hold: (by?: string) => new Hold(budget, by),
    /** The bytes that are held now. */
    used: (): number => used.large + used.waiting + used.small,
    /** How many callers hold something. */
    callers: (): number => budget.callers.size,
    /** Each share: the bytes that are held of it, and the most that it may hold. */
    shares: (): Record<Share, { used: number; most: number }> => ({
      large: { used: used.large, most: maxBytes * SHARES.large },
      waiting: { used: used.waiting, most: maxBytes * SHARES.waiting },
      small: { used: used.small, most: maxBytes * SHARES.small },
    }),
  };
}

export type Memory = ReturnType<typeof createMemory>;
