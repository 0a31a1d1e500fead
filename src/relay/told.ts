import { AS_QUEUE_SAYS } from '../queues/elsewhere.ts';

/* What is told of a job until it arrives. */

/** The `max_attempts` of a queue in another database, if this replica has seen it. */
export type AttemptsOf = (queueId: number) => number | undefined;

/** What a queue says that nobody has configured. */
const ATTEMPTS = 5;

export const toldAttempts = (asked: number, queueId: number, attemptsOf: AttemptsOf): number =>
  asked === AS_QUEUE_SAYS ? (attemptsOf(queueId) ?? ATTEMPTS) : asked;

/** The time from which a job may run, as it was asked for. */
export const dueAt = (createdAt: string, runAt: string | null, delaySeconds: number): string =>
  new Date(
    Math.max(Date.parse(createdAt), runAt ? Date.parse(runAt) : Date.parse(createdAt) + delaySeconds * 1000),
  ).toISOString();
