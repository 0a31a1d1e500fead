import type { DatabaseEngine } from '../engine/open.ts';
import { queueNameOf } from '../enqueue/intoQueues.ts';
import type { Job } from '../job.ts';
import { jobOf } from '../schedules/schedules.ts';
import { followersOf, queuesOfBatch } from '../verbs/batches.ts';
import type { EnqueueRequest, NewJob } from '../verbs/enqueue.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import type { WayOfJobs } from './onItsWay.ts';
import type { Placements } from './placements.ts';
import { ofBatch, type WhyRefused } from './whyRefused.ts';

/** The verbs that bring jobs in: each leads to the database of the first queue. */
export function newJobsOfSeveral(
  { home, toNew }: Lead,
  placements: Placements,
  way: WayOfJobs,
  why: WhyRefused,
): Pick<Verbs, 'enqueue' | 'enqueueOnce' | 'createBatch' | 'triggerSchedule'> {
  /**
   * Where those of the queues are to be that are new, when jobs are in a batch: beside it. Undefined where none is new, or no job is
   * in a batch. No queue is placed for a batch that is not there. @throws Refusal `batch_not_found`
   */
  async function databaseOfBatch(jobs: NewJob[], queues: string[]): Promise<string | undefined> {
    const batch = jobs.find((job) => job.batch !== undefined)?.batch;
    if (batch === undefined) return undefined;
    const places = await Promise.all([...new Set(queues)].map(placements.find));
    if (places.every((place) => place !== undefined)) return undefined;
    return ofBatch(batch, async () => (await placements.ofJob(batch)).database);
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
    const wish = await databaseOfBatch(jobs, jobs.map(queueNameOf));
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
      const wish = await databaseOfBatch(jobs, [queue, ...jobs.map(queueNameOf)]);
      return toNew([queue], create, wish).catch((error) => {
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
