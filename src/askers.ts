import { AsyncLocalStorage } from 'node:async_hooks';
import type { Trace } from './traceparent.ts';

/*
 * Whose request the code that runs works for. Requests share statements (src/batching), so there may be several. Node needs
 * time to keep this through promises. So it is kept only for those who asked for it: by traces, or by LOG_LEVEL=debug.
 */

/** A statement that ran, on the clock of this process. */
export interface Ran {
  name: string;
  began: number;
  ended: number;
  rows: number;
  failed: boolean;
  /** How long its transaction waited for a connection. */
  waitedMs: number;
}

/** A request, as the statements that run for it know it. */
export interface Asker {
  reqId: string | undefined;
  trace: Trace | undefined;
  traceId: string | undefined;
  /** Is told of each statement that ran for the request. */
  ran?: ((statement: Ran) => void) | undefined;
}

export type Askers = readonly Asker[];

const NOBODY: Askers = [];

let storage: AsyncLocalStorage<Askers> | undefined;

/** From now on it is known whose request runs. */
export function keepAskers(): void {
  storage ??= new AsyncLocalStorage();
}

export const areAskersKept = (): boolean => storage !== undefined;

/** Whose requests run here. Nobody's, unless it is kept. */
export const askers = (): Askers => storage?.getStore() ?? NOBODY;

export const runFor = <T>(who: Askers, run: () => T): T => (storage ? storage.run(who, run) : run());

/** Runs what several requests share. */
export const runForAll = <T>(shared: { askers: Askers }[], run: () => T): T =>
  storage ? storage.run([...new Set(shared.flatMap((one) => one.askers))], run) : run();
