import type { Stage } from './stage.ts';

/** What a library may lack, with the reason why a promise does not apply to it. */
export type Lack =
  | 'progress'
  | 'follow-ups'
  | 'decode'
  | 'producer'
  /** The code of a signal, beside the signal itself. */
  | 'codes';

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

/** Adds a promise. The name is the row of the table in docs/workers.md. */
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
