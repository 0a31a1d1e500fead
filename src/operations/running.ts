import { type Refusal, tooManyOperations } from '../errors.ts';

/** So many run at once, and so many of one caller. Where nobody needs a key, all are of one caller. */
const MOST_RUNNING = 100;
const MOST_RUNNING_OF_ONE = 20;

/** How many operations, or relocations, may run at once: of all callers, and of this one. */
export const boundsFor = (by: string | null) => ({
  most: MOST_RUNNING,
  most_of_one: by === null ? MOST_RUNNING : MOST_RUNNING_OF_ONE,
});

/** Why one more does not run. `own`: how many of this caller do. */
export function tooManyRunning(own: number, { most, most_of_one }: ReturnType<typeof boundsFor>): Refusal {
  const isOwn = own >= most_of_one;
  return tooManyOperations(isOwn ? most_of_one : most, isOwn);
}
