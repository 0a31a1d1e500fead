import { setTimeout as sleep } from 'node:timers/promises';
import { queueIdOf } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Parcel } from './receive.ts';

/**
 * An answer waits for its jobs to arrive for so long, while their databases are there. A job that has not arrived then is told as
 * `scheduled`: what its producer enqueues next may overtake it.
 */
const ANSWER_MS = 1000;

interface Asker {
  job: Job;
  done(): void;
}

/** The requests whose answers wait for jobs to arrive, by queue and job. */
export function createAskers(answerMs = ANSWER_MS) {
  const queues = new Map<number, Map<string, Asker>>();

  function ask(queueId: number, job: Job): Promise<void> {
    const askers = queues.get(queueId) ?? new Map<string, Asker>();
    queues.set(queueId, askers);
    return new Promise((done) => askers.set(job.id, { job, done }));
  }

  function leave(queueId: number, id: string): void {
    const askers = queues.get(queueId);
    askers?.delete(id);
    if (askers?.size === 0) queues.delete(queueId);
  }

  return {
    /** Waits a short time for jobs to arrive, while `send` runs. */
    async wait(jobs: Job[], send: (queueId: number) => void): Promise<void> {
      const asked = jobs.map((job) => ({ id: job.id, queueId: queueIdOf(job.id) as number, job }));
      const answered = Promise.all(asked.map(({ queueId, job }) => ask(queueId, job)));
      for (const queueId of new Set(asked.map((one) => one.queueId))) send(queueId);
      const late = new AbortController();
      await Promise.race([
        answered,
        sleep(answerMs, undefined, { signal: late.signal }).catch(() => undefined),
      ]);
      late.abort();
      for (const { queueId, id } of asked) leave(queueId, id);
    },

    /** Those that ask about a queue now. The function tells them that they need not wait any longer. */
    of(queueId: number): () => void {
      const asking = [...(queues.get(queueId)?.values() ?? [])];
      return () => {
        for (const { done } of asking) done();
      };
    },

    /** A parcel has arrived, and its jobs are these now. None: it had arrived before. */
    arrived({ queueId, jobs }: Parcel, arrived: Map<string, Job>): void {
      const askers = queues.get(queueId);
      if (!askers) return;
      for (const { id } of jobs) {
        const asker = askers.get(id);
        if (!asker) continue;
        Object.assign(asker.job, arrived.get(id));
        asker.done();
      }
    },
  };
}
