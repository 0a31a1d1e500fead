import type { DatabaseEngine } from '../engine/open.ts';
import { queueNameOf } from '../enqueue/intoQueues.ts';
import { isUuid } from '../ids.ts';
import type { Job } from '../job.ts';
import { jobOf } from '../schedules/schedules.ts';
import { followersOf, queuesOfBatch } from '../verbs/batches.ts';
import type { EnqueueRequest, NewJob } from '../verbs/enqueue.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import { isNotFound, type WayOfJobs } from './onItsWay.ts';
import type { Placements } from './placements.ts';
import type { WhyRefused } from './whyRefused.ts';

/** The verbs that bring jobs in: each leads to the database of the first queue. */
export function newJobsOfSeveral(
  { home, toNew }: Lead,
  placements: Placements,
  way: WayOfJobs,
  why: WhyRefused,
): Pick<Verbs, 'enqueue' | 'enqueueOnce' | 'createBatch' | 'triggerSchedule'> {
  /** Where new queues of jobs of a batch are to be: beside it. Undefined where they are in none. */
  async function databaseOfBatch(jobs: NewJob[]): Promise<string | undefined> {
    const batch = jobs.find((job) => job.batch !== undefined)?.batch;
    if (batch === undefined || !isUuid(batch)) return undefined;
    try {
      return (await placements.ofJob(batch)).database;
    } catch (error) {
      // A repeat is answered all the same, and else the database of the jobs refuses it.
      if (!isNotFound(error)) throw error;
      return undefined;
    }
  }

  /** To the first of the queues of these jobs. What waits for them from before goes first. */
  function toQueuesOf<T>(
    jobs: NewJob[],
    run: (engine: DatabaseEngine) => Promise<T>,
    wish?: string,
  ): Promise<T> {
    const queues = jobs.map(queueNameOf);
    const inOrder = async (engine: DatabaseEngine): Promise<T> => {
      await way.sendFirst([...new Set(queues)], engine.name);
      return run(engine);
    };
    return toNew(queues, inOrder, wish);
  }

  async function enqueueIn<T>(request: EnqueueRequest, run: (engine: DatabaseEngine) => Promise<T>) {
    const { jobs, at } = request;
    const wish = await databaseOfBatch(jobs);
    return toQueuesOf(jobs, run, wish).catch((error) => {
      const place = placements.known(queueNameOf(jobs[0] as NewJob));
      return why(error, { jobs, at, beside: 'the first job', place });
    });
  }

  return {
    enqueue: (request) => enqueueIn(request, ({ verbs }) => verbs.enqueue(request)),
    enqueueOnce: (request) => enqueueIn(request, ({ verbs }) => verbs.enqueueOnce(request)),

    /** What it names and is not there yet comes into the same database. */
    async createBatch(request) {
      const { queue } = request;
      const followers = followersOf(request);
      const jobs = followers.map(({ job }) => job);
      const create = ({ name }: DatabaseEngine) =>
        toNew([queue, ...queuesOfBatch(request)], ({ verbs }) => verbs.createBatch(request), name);
      return toNew([queue], create, await databaseOfBatch(jobs)).catch((error) => {
        const at = (i: number) => `/${followers[i]?.kind}`;
        return why(error, { jobs, at, beside: `queue ${queue}`, place: placements.known(queue) });
      });
    },

    /** The schedule is in home. Its job is enqueued where its queue is. */
    async triggerSchedule({ trace, ...named }) {
      const job = { ...jobOf(await home.verbs.getSchedule(named)), trace };
      const jobs = await toQueuesOf([job], ({ verbs }) => verbs.enqueue({ jobs: [job], at: () => '' }));
      return jobs[0] as Job;
    },
  };
}
