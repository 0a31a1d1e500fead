import type { Stage } from './stage.ts';

/** What a library may lack, with the reason why a promise does not apply to it. */
export type Lack =
  | 'progress'
  | 'follow-ups'
  | 'decode'
  | 'producer'
  /** A key that is a function. */
  | 'key function'
  /** How long a request may take. */
  | 'time-outs'
  /** Errors that have causes. */
  | 'causes'
  /** A delay of a nack or a release that the handler chooses. */
  | 'delays'
  /** stop() that the worker's own process calls: before run(), in a handler, in an observer. */
  | 'own stop'
  /** `run()` that can be cancelled. */
  | 'cancel'
  /** The code of a signal, beside the signal itself. */
  | 'codes'
  /** A signal when no extend was answered until the lease was over. */
  | 'expiry';

export interface Promised {
  name: string;
  group: string;
  needs: Lack[];
  /** Played by `npm run test:clients` only: it takes too long for each run. */
  isSlow: boolean;
  /** It is about leases that run out, so it may break on a machine that is very busy. */
  isTimed: boolean;
  play(stage: Stage): Promise<unknown>;
}

export const PROMISES: Promised[] = [];

/** Adds a promise. The name is the row of the table in docs/conformance.md. */
export function promise(
  group: string,
  name: string,
  play: Promised['play'],
  {
    needs = [],
    isSlow = false,
    isTimed = false,
  }: { needs?: Lack[]; isSlow?: boolean; isTimed?: boolean } = {},
): void {
  if (PROMISES.some((one) => one.name === name)) throw new Error(`two promises are called "${name}"`);
  PROMISES.push({ group, name, needs, isSlow, isTimed, play });
}
