import { overloaded } from '../errors.ts';
import { roomOfOne } from '../memory.ts';

/** A replica holds at most this number of claims at once. Each takes about 10 kB of memory. */
const MOST_CLAIMS = 20_000;

/** How many claims are not answered yet, of all callers and of each. */
export class OpenClaims {
  all = 0;
  readonly #own = new Map<string | undefined, number>();

  /** @throws Refusal `overloaded` when there are too many, or too many of this caller */
  take(by: string | undefined): void {
    if (this.all >= MOST_CLAIMS) throw overloaded();
    const own = this.#own.get(by) ?? 0;
    if (by !== undefined && roomOfOne(MOST_CLAIMS - this.all, own) < 1)
      throw overloaded('This caller has as many open claims as one caller may have at a replica.');
    this.all++;
    this.#own.set(by, own + 1);
  }

  giveBack(by: string | undefined): void {
    this.all--;
    const own = (this.#own.get(by) ?? 0) - 1;
    if (own > 0) this.#own.set(by, own);
    else this.#own.delete(by);
  }
}
