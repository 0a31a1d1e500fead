import type { DatabaseEngine } from '../engine/open.ts';
import { invalidRequest, queueBusy, queueElsewhere } from '../errors.ts';
import type { QueueStatus } from '../verbs/queues.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import { awayOf, type Members } from './members.ts';
import type { Placements } from './placements.ts';

type OfOne =
  | 'getQueue'
  | 'configureQueue'
  | 'pauseQueue'
  | 'resumeQueue'
  | 'pauseGroup'
  | 'resumeGroup'
  | 'deleteQueue';

/** The verbs about one queue that tell where it is, or decide it. */
export function queuesOfSeveral(
  { home, toQueue, toNew }: Lead,
  members: Members,
  placements: Placements,
): Pick<Verbs, OfOne> {
  /** What a verb answers in the database of the queue, with the name of that. */
  const told =
    (run: (engine: DatabaseEngine) => Promise<QueueStatus>) =>
    async (engine: DatabaseEngine): Promise<QueueStatus> => ({
      ...(await run(engine)),
      database: engine.name,
    });

  /** The queue is there when the verb runs: its statements would create it without a place. */
  const opened = (queue: string, run: (engine: DatabaseEngine) => Promise<QueueStatus>) =>
    told(async (engine) => {
      await engine.base.queues.open(queue);
      return run(engine);
    });

  /** A dead letter queue is in the database of its queue, so that one commit suffices. @throws Refusal `queue_elsewhere` */
  async function openBeside(name: string, { name: database, base }: DatabaseEngine): Promise<void> {
    await placements.place([name], () => awayOf(members), database);
    const place = await placements.findNow(name);
    if (place && place.database !== database) throw queueElsewhere(name, place.database);
    if (place?.moving_to) throw queueBusy(name, `is being relocated to the database "${place.moving_to}"`);
    await base.queues.open(name);
  }

  return {
    getQueue: (request) =>
      toQueue(
        request.queue,
        told(({ verbs }) => verbs.getQueue(request)),
      ),

    configureQueue({ database, ...request }) {
      const { queue } = request;
      if (database !== undefined && !members.has(database))
        throw invalidRequest([{ path: '/database', message: 'must be the name of a database' }]);
      const configure = opened(queue, async (engine) => {
        const { dead_letter_queue } = request.config;
        if (dead_letter_queue !== null) await openBeside(dead_letter_queue, engine);
        return engine.verbs.configureQueue(request);
      });
      return toNew(
        [queue],
        async (engine) => {
          if (database !== undefined && engine.name !== database) throw queueElsewhere(queue, engine.name);
          return configure(engine);
        },
        database,
      );
    },

    pauseQueue: (request) =>
      toNew(
        [request.queue],
        opened(request.queue, ({ verbs }) => verbs.pauseQueue(request)),
      ),

    resumeQueue: (request) =>
      toQueue(
        request.queue,
        told(({ verbs }) => verbs.resumeQueue(request)),
      ),

    pauseGroup: (request) =>
      toNew([request.queue], async ({ base, verbs }) => {
        await base.queues.open(request.queue);
        return verbs.pauseGroup(request);
      }),

    resumeGroup: (request) => toQueue(request.queue, ({ verbs }) => verbs.resumeGroup(request)),

    /** The queue loses its place, too. In home, a trigger sees to that. */
    async deleteQueue(request) {
      const place = await placements.find(request.queue);
      await toQueue(request.queue, async (engine) => {
        await engine.verbs.deleteQueue(request);
        if (place && engine !== home)
          await placements.remove(place, async () => !(await engine.base.queues.lookNow(place.name)));
        else placements.forget(request.queue);
      });
    },
  };
}
