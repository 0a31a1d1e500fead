import { messageOf } from './errorText.ts';
import type { Outcome, Verb } from './outcome.ts';
import { Ack, itemOf, Nack, verbOf } from './outcome.ts';
import type { Run } from './run.ts';

/** What a worker has to say of a job that it has done. */
export interface Settlement {
  run: Run;
  outcome: Outcome;
  verb: Verb;
  /** The item of `POST /jobs/settle`, as JSON. */
  text: string;
  /** It was sent before, and no answer came: it may count already. */
  isRepeated: boolean;
  /** It goes by itself, because something in a batch was refused. */
  isAlone: boolean;
  /** It stands for one that was refused. */
  isLast: boolean;
  failures: number;
  /** By the monotonic clock: not before this. */
  notBefore: number;
}

const MOST_ITEMS = 1000;
/** Dibs takes 16 MiB in a body. Results and follow-ups may be large. */
const MOST_CHARACTERS = 4 * 2 ** 20;

/** What cannot be written as JSON is refused like what Dibs refuses. */
export function settlementOf(run: Run, outcome: Outcome, isLast = false): Settlement {
  const { id, lease_token } = run.job;
  const rest = { run, outcome, isRepeated: false, isAlone: false, isLast, failures: 0, notBefore: 0 };
  try {
    return { ...rest, verb: verbOf(outcome), text: itemOf(outcome, id, lease_token) };
  } catch (error) {
    return settlementOf(run, nackFor(outcome, `it cannot be written as JSON: ${messageOf(error)}`), isLast);
  }
}

/** What stands for a settlement that Dibs never takes. To do the work of an ack again would not help. */
export function nackFor(outcome: Outcome, reason: string): Nack {
  const why = `the ${verbOf(outcome)} was refused: ${reason}`;
  if (!(outcome instanceof Nack)) return new Nack(why, { retry: !(outcome instanceof Ack) });
  return new Nack(`${messageOf(outcome)}\n${why}`, { retry: outcome.retry !== false });
}

/** Settlements that wait for the next request. */
export class Outbox {
  #waiting: Settlement[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(...settlements: Settlement[]): void {
    this.#waiting.push(...settlements);
  }

  /** When the next one may go: 0 for now, undefined for never. */
  waitMs(now: number): number | undefined {
    if (this.#waiting.length === 0) return undefined;
    return Math.max(0, Math.min(...this.#waiting.map(({ notBefore }) => notBefore)) - now);
  }

  /** Whether the next batch is one that goes alone. */
  isNextAlone(now: number): boolean {
    return this.#waiting.find(({ notBefore }) => notBefore <= now)?.isAlone ?? false;
  }

  /** The next batch. */
  take(now: number): Settlement[] {
    const batch: Settlement[] = [];
    const left: Settlement[] = [];
    let characters = 0;
    for (const one of this.#waiting) {
      const isFull =
        batch.length >= MOST_ITEMS ||
        (batch.length > 0 && characters + one.text.length > MOST_CHARACTERS) ||
        (batch.length > 0 && (one.isAlone || batch[0]?.isAlone));
      if (one.notBefore > now || isFull) left.push(one);
      else {
        batch.push(one);
        characters += one.text.length;
      }
    }
    this.#waiting = left;
    return batch;
  }

  drop(): Settlement[] {
    return this.#waiting.splice(0);
  }
}

const LISTS = [
  ['ack', 'acks'],
  ['nack', 'nacks'],
  ['release', 'releases'],
] as const;

/** The body of `POST /jobs/settle`, and the settlements in the order of the answer's lists. */
export function requestOf(batch: Settlement[], claim?: object) {
  const parts = LISTS.map(([verb, list]) => ({ list, items: batch.filter((one) => one.verb === verb) }));
  const members = parts
    .filter(({ items }) => items.length > 0)
    .map(({ list, items }) => `"${list}":[${items.map(({ text }) => text).join()}]`);
  if (claim) members.push(`"claim":${JSON.stringify(claim)}`);
  return { text: `{${members.join()}}`, parts };
}
