import type { Batch } from '../../types.ts';

type Of = Pick<Batch, 'counts'>;

/** Jobs that wait for a worker. */
export const waitingIn = ({ counts }: Of): number => counts.scheduled + counts.ready + counts.blocked;

export const unfinishedIn = (batch: Of): number => waitingIn(batch) + batch.counts.leased;

export const finishedIn = ({ counts }: Of): number => counts.completed + counts.cancelled + counts.dead;

export const jobsIn = (batch: Of): number => unfinishedIn(batch) + finishedIn(batch);
