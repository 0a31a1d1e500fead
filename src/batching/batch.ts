import { type Askers, runForAll } from '../askers.ts';
import { isOutage } from '../errors.ts';
import { isDataError, isLockTimeout } from '../postgres/errorClasses.ts';
import type { RoundTrip } from './roundTrip.ts';

/** An item that waits for its batch, or is in one. */
export interface Waiting<Item, Result> {
  item: Item;
  weight: number;
  askers: Askers;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Takes the next batch out of the items that wait, in their order. It weighs at most `maxWeight`, and an item heavier
 * than that goes alone. An item that clashes with one before it stays.
 */
export function takeBatch<Item, Result>(
  items: Waiting<Item, Result>[],
  maxWeight: number,
  clash: ((item: Item) => string) | undefined,
): Waiting<Item, Result>[] {
  const seen = new Set<string>();
  const taken: Waiting<Item, Result>[] = [];
  const clashing: Waiting<Item, Result>[] = [];
  let weight = 0;
  for (const waiting of items) {
    weight += waiting.weight;
    if (taken.length > 0 && weight > maxWeight) break;
    const key = clash?.(waiting.item);
    if (key !== undefined && seen.has(key)) {
      clashing.push(waiting);
    } else {
      if (key !== undefined) seen.add(key);
      taken.push(waiting);
    }
  }
  items.splice(0, taken.length + clashing.length, ...clashing);
  return taken;
}

/**
 * Runs a batch, and answers its items. When it fails for its data, or waits too long for a lock in a round trip, its
 * items run one by one: a bad item fails alone. @throws only an outage, when the items have been refused with it.
 */
export async function runBatch<Item, Result>(
  batch: Waiting<Item, Result>[],
  work: (items: Item[], trip: RoundTrip | undefined) => Promise<Result[]>,
  trip: RoundTrip | undefined,
): Promise<void> {
  try {
    const items = batch.map((waiting) => waiting.item);
    const results = await runForAll(batch, () => work(items, trip));
    for (const [i, waiting] of batch.entries()) waiting.resolve(results[i] as Result);
  } catch (error) {
    if (batch.length > 1 && (isDataError(error) || (trip && isLockTimeout(error)))) {
      const alone = trip?.leave();
      for (const waiting of batch) await runBatch([waiting], work, alone);
    } else {
      for (const waiting of batch) waiting.reject(error);
      if (isOutage(error)) throw error;
    }
  }
}
