import { setTimeout as sleep } from 'node:timers/promises';
import { isOutage, Refusal } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Job } from '../job.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import { isAway, type Members } from './members.ts';

/** A client that waits for a job looks so often whether it has arrived. */
const LOOK_MS = 200;

const isNotFound = (error: unknown) => error instanceof Refusal && error.code === 'job_not_found';

/** Looks at one job. One that has not arrived yet in its database is told by the relay of another one. */
export function relayedJobs(members: Members, { home, toJob }: Lead): Pick<Verbs, 'getJob' | 'waitForJob'> {
  async function find(id: string): Promise<Job | undefined> {
    if (!isUuid(id)) return undefined;
    const there = [...members.values()].filter((engine) => !isAway(engine));
    const found = await Promise.all(there.map(({ rooms }) => rooms.relay?.find(id).catch(() => undefined)));
    return found.find((job) => job !== undefined);
  }

  /** Looks at the job by `look`. If that does not find it, the job may be on its way. */
  async function lookOrFind(id: string, look: () => Promise<Job>): Promise<{ job: Job; isOnItsWay?: true }> {
    try {
      return { job: await look() };
    } catch (error) {
      if (!isNotFound(error) && !isOutage(error)) throw error;
      const job = await find(id);
      if (job) return { job, isOnItsWay: true };
      if (!isNotFound(error) || !isUuid(id)) throw error;
      // It may have arrived between the two looks.
      return { job: await look() };
    }
  }

  return {
    async getJob(request) {
      const { job } = await lookOrFind(request.id, () =>
        toJob(request.id, ({ verbs }) => verbs.getJob(request)),
      );
      return job;
    },

    async waitForJob(request) {
      const { id, wait_seconds, onHangup } = request;
      const until = performance.now() + wait_seconds * 1000;
      let isGone = false;
      onHangup?.(() => {
        isGone = true;
      });
      for (;;) {
        const leftMs = Math.max(0, until - performance.now());
        const { job, isOnItsWay } = await lookOrFind(id, () =>
          toJob(id, ({ verbs }) => verbs.waitForJob({ ...request, wait_seconds: leftMs / 1000 })),
        );
        if (!isOnItsWay || leftMs === 0 || isGone || home.rooms.waits.closed()) return job;
        await sleep(Math.min(LOOK_MS, leftMs));
      }
    },
  };
}
