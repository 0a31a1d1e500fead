import { type Queue, STATES } from '../../types.ts';

/** How many jobs of a queue are in these states. */
export const jobsIn = ({ counts }: Queue, states: readonly string[] = STATES): number =>
  states.reduce((sum, state) => sum + counts[state as keyof typeof counts], 0);
