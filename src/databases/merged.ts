import { isOutage, unavailable } from '../errors.ts';
import type { PartlyAway } from '../verbs/databases.ts';
import type { VerbName, Verbs } from '../verbs.ts';

/** A database, as a verb sees it that merges the answers of several. */
export interface Part<V extends VerbName> {
  name: string;
  verbs: Pick<Verbs, V>;
  isAway(): boolean;
}

/** What one database answered. */
export interface Answered<A> {
  name: string;
  answer: A;
}

/** What the databases answered that are there, in their order, and which are away. */
export interface Answers<A> extends PartlyAway {
  answers: Answered<A>[];
}

/**
 * Asks all databases at once that are there. One that turns out not to be is away, too. @throws Refusal `unavailable` where all
 * are away, and every refusal that is no outage
 */
export async function askAll<P extends { name: string; isAway(): boolean }, A>(
  parts: readonly P[],
  ask: (part: P) => Promise<A>,
): Promise<Answers<A>> {
  const there = parts.filter((part) => !part.isAway());
  const ended = await Promise.allSettled(there.map(ask));
  const answers: Answered<A>[] = [];
  for (const [i, result] of ended.entries()) {
    if (result.status === 'fulfilled') answers.push({ name: (there[i] as P).name, answer: result.value });
    else if (!isOutage(result.reason)) throw result.reason;
  }
  if (answers.length === 0) throw outageOf(ended);
  const answered = new Set(answers.map(({ name }) => name));
  const away = [...new Set(parts.map(({ name }) => name))].filter((name) => !answered.has(name));
  return { answers, ...(away.length > 0 ? { away } : {}) };
}

const outageOf = ([first]: PromiseSettledResult<unknown>[]): unknown =>
  first?.status === 'rejected' ? first.reason : unavailable();

/** The sum of numbers by name. */
export function sumOf<K extends string>(all: [Record<K, number>, ...Record<K, number>[]]): Record<K, number> {
  const sum = { ...all[0] };
  for (const more of all.slice(1)) for (const key of Object.keys(sum) as K[]) sum[key] += more[key];
  return sum;
}

/** The largest of those that are known. Null: none is. */
export function largestOf(all: (number | null)[]): number | null {
  const known = all.filter((number) => number !== null);
  return known.length === 0 ? null : Math.max(...known);
}
