import { askers } from './askers.ts';
import { HeldUp, unavailable, withUnknownOutcome } from './errors.ts';
import type { Ledger } from './ledger.ts';
import type { Look } from './looks.ts';
import type { RequestOf, VerbName } from './verbs.ts';

/*
 * The seam of the engine: what concerns every verb is put around all of them here. A concern chooses, when the engine
 * starts, what it does around a verb. It costs the other verbs nothing.
 */

type AnyVerb = (request: unknown) => Promise<unknown>;

/** Runs around each call of a verb. `run` runs the verb. */
export type Around = (run: () => Promise<unknown>, request: unknown) => Promise<unknown>;

/** What to do around the verb of this name, if anything. */
export type Concern = (verb: VerbName) => Around | undefined;

/** The same verbs with every concern around them. The first concern is the outermost. */
export function withConcerns<V extends object>(verbs: V, concerns: Concern[]): V {
  const wrapped = Object.entries(verbs as Record<string, AnyVerb>).map(([name, verb]) => [
    name,
    concerns.reduceRight((inner, concern) => {
      const around = concern(name as VerbName);
      return around ? (request: unknown) => around(() => inner(request), request) : inner;
    }, verb),
  ]);
  return Object.fromEntries(wrapped) as V;
}

/** Calls `served` for each claim that is answered with jobs. */
export const noteServedClaims =
  (served: () => void): Concern =>
  (verb) =>
    verb === 'claim'
      ? async (run) => {
          const jobs = await run();
          if ((jobs as unknown[]).length > 0) served();
          return jobs;
        }
      : undefined;

/** Tells `rest` what is asked. A verb waits until the other replicas are told, if `rest` says so. */
export const keepAwake =
  (
    rest: { asked(makesDue: boolean): Promise<unknown> | undefined },
    makesDue: (verb: VerbName) => boolean,
  ): Concern =>
  (verb) => {
    const may = makesDue(verb);
    return (run) => {
      const told = rest.asked(may);
      return told ? told.then(run) : run();
    };
  };

/**
 * Counts the calls of verbs that are under way, whatever they wait for: a place, a connection, a lock. Not those that
 * are `uncounted`: a count takes 4 µs.
 */
export function countCalls(ledger: Ledger, uncounted: readonly VerbName[]): Concern {
  let calls = 0;
  const ended = () => {
    calls--;
  };
  ledger.count('calls', () => calls);
  return (verb) =>
    uncounted.includes(verb)
      ? undefined
      : (run) => {
          const result = run();
          calls++;
          result.then(ended, ended);
          return result;
        };
}

/**
 * For verbs of several transactions: when one breaks off in between, nobody can tell what was done. A verb that a lock
 * refuses says itself what it has done before.
 */
export const unknownWhenBroken =
  (verbs: readonly VerbName[]): Concern =>
  (verb) =>
    verbs.includes(verb)
      ? async (run) => {
          try {
            return await run();
          } catch (error) {
            throw error instanceof HeldUp ? error : withUnknownOutcome(error);
          }
        }
      : undefined;

/**
 * How long a call of several transactions may take. Each transaction has a limit of its own, which is a bit shorter.
 */
const CALL_MS = 4800;

function within<T>(ms: number, work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(unavailable('The database is slow. Try again later.', 'unknown')),
      ms,
    );
    const ended =
      <V>(then: (value: V) => void) =>
      (value: V) => {
        clearTimeout(late);
        then(value);
      };
    work.then(ended(resolve), ended(reject));
  });
}

/**
 * For the verbs whose calls make several transactions, if `concerned` says so of a request: it is refused when they
 * take too long together. What is under way goes on. Other calls have no timer: their transaction has a limit.
 */
export const refusedWhenSlow =
  (concerned: { [V in VerbName]?: (request: RequestOf<V>) => boolean }): Concern =>
  (verb) => {
    const isConcerned = concerned[verb] as ((request: unknown) => boolean) | undefined;
    return isConcerned && ((run, request) => (isConcerned(request) ? within(CALL_MS, run()) : run()));
  };

/**
 * Shares and bounds the calls of verbs that only look. Those who ask take turns: a request may say `from` whom it is.
 */
export const shareLooks =
  (looks: (verb: VerbName) => boolean, look: Look): Concern =>
  (verb) =>
    looks(verb)
      ? (run, request) => {
          const { from, ...asked } = request as { from?: object };
          return look(`${verb} ${JSON.stringify(asked)}`, run, from);
        }
      : undefined;

/** Logs a line for each call: the verb, how long it took, the code of its refusal, and whose request it was. */
export const logCalls =
  (log: (fields: object, message: string) => void): Concern =>
  (verb) =>
  async (run) => {
    const started = performance.now();
    const [caller] = askers();
    const ids = caller && { reqId: caller.reqId, traceId: caller.traceId };
    const line = (outcome: string) =>
      log({ verb, outcome, ms: Math.round((performance.now() - started) * 10) / 10, ...ids }, 'called');
    try {
      const result = await run();
      line('done');
      return result;
    } catch (error) {
      line((error as { code?: string }).code ?? 'failed');
      throw error;
    }
  };
