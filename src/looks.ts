import { type Askers, askers, runForAll } from './askers.ts';
import { unavailable } from './errors.ts';

/*
 * Looks change nothing, and many connections may repeat them, with little scope or none. So equal looks are shared, and few run
 * at once over all kinds: connections and processors are left to the verbs that do the work.
 */

/** Runs a look as soon as there is a place for it. Those who ask (`from`) take turns: src/postgres/semaphore.ts. */
type Places = <T>(look: () => Promise<T>, from?: readonly unknown[]) => Promise<T>;

/** Runs a look. `key`: looks with the same key get the same answer. `from`: who asks. */
export type Look = <T>(key: string, run: () => Promise<T>, from?: object) => Promise<T>;

/** A look that has waited for so long does not run: its caller was refused meanwhile (`CALL_MS` in concerns.ts). */
const LONGEST_WAIT_MS = 4500;

interface Gathering {
  answer: Promise<unknown>;
  sharers: { askers: Askers }[];
}

const tooLate = () =>
  unavailable('Too many requests read jobs and queues at the same time. Try again later.');

/**
 * Equal looks that wait for a place are one look. Nobody joins a look that has begun. So each caller sees all that was
 * answered before it asked, such as its own changes.
 */
export function createLooks(places: Places): Look {
  const gathering = new Map<string, Gathering>();

  return <T>(key: string, run: () => Promise<T>, from?: object): Promise<T> => {
    const open = gathering.get(key);
    if (open) {
      open.sharers.push({ askers: askers() });
      return open.answer as Promise<T>;
    }
    const since = performance.now();
    const sharers = [{ askers: askers() }];
    let hasBegun = false;
    const begin = async () => {
      hasBegun = true;
      gathering.delete(key);
      if (performance.now() - since > LONGEST_WAIT_MS) throw tooLate();
      return runForAll(sharers, run);
    };
    // The semaphore hears of no failure: when one look fails, those that wait for their places still run.
    const answer = places(() => Promise.allSettled([begin()]), from && [from]).then(([ended]) => {
      if (ended.status === 'rejected') throw ended.reason;
      return ended.value;
    });
    if (!hasBegun) gathering.set(key, { answer, sharers });
    return answer;
  };
}

/** For answers that no request changes: equal looks within this time share one. */
export const SHARED_MS = 250;

/** Equal looks within SHARED_MS get the answer of the first of them, its failure too. */
export function createSharedLooks(): Look {
  const recent = new Map<string, Promise<unknown>>();
  return <T>(key: string, run: () => Promise<T>): Promise<T> => {
    const known = recent.get(key);
    if (known) return known as Promise<T>;
    const answer = run();
    recent.set(key, answer);
    setTimeout(() => recent.delete(key), SHARED_MS).unref();
    return answer;
  };
}
