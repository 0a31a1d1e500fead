import type { DatabaseEngine } from '../engine/open.ts';
import { invalidRequest, queueBusy, queueElsewhere } from '../errors.ts';
import type { Narrowed } from '../verbs/callers.ts';
import type { QueueName, QueueStatus } from '../verbs/queues.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import { awayOf, engineAt, type Members } from './members.ts';
import type { Place, Placements } from './placements.ts';

type OfOne =
  | 'getQueue'
  | 'configureQueue'
  | 'pauseQueue'
  | 'resumeQueue'
  | 'pauseGroup'
  | 'resumeGroup'
  | 'deleteQueue';

/** Dead letters stay in the database of their queue, so that one commit suffices. @throws Refusal `queue_elsewhere`, `queue_busy` */
function refuseApart({ name, database, moving_to }: Place, wished: string): void {
  if (database !== wished) throw queueElsewhere(name, database);
  if (moving_to) throw queueBusy(name, `is being relocated to the database "${moving_to}"`);
}

/** Keeps a queue and its dead letter queue in one database. */
function besideDeadLetters(home: DatabaseEngine, members: Members, placements: Placements) {
  /** Where a new queue with this dead letter queue goes. What is refused has made nothing, no place either. */
  async function databaseBeside({ queue, mayUse }: QueueName & Narrowed, deadLetters: string, wish?: string) {
    const place = await placements.findNow(deadLetters);
    const { queueAdmin } = (place ? engineAt(members, place) : home).rooms;
    await queueAdmin.refuseCircle(queue, deadLetters, mayUse);
    const isNew = place && !(await placements.findNow(queue));
    if (isNew) refuseApart(place, wish ?? place.database);
    return wish ?? place?.database;
  }

  /** Gives a dead letter queue its place, if it has none. @throws Refusal `queue_elsewhere`, `queue_busy` */
  async function placeBeside(deadLetters: string, database: string): Promise<void> {
    await placements.place([deadLetters], () => awayOf(members), database);
    const place = await placements.findNow(deadLetters);
    if (place) refuseApart(place, database);
  }

  return { databaseBeside, placeBeside };
}

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

  const { databaseBeside, placeBeside } = besideDeadLetters(home, members, placements);

  return {
    getQueue: (request) =>
      toQueue(
        request.queue,
        told(({ verbs }) => verbs.getQueue(request)),
      ),

    async configureQueue({ database, ...request }) {
      const { queue } = request;
      const deadLetters = request.config.dead_letter_queue;
      if (database !== undefined && !members.has(database))
        throw invalidRequest([{ path: '/database', message: 'must be the name of a database' }]);
      const configure = opened(queue, ({ verbs }) => verbs.configureQueue(request));
      return toNew(
        [queue],
        async (engine) => {
          if (database !== undefined && engine.name !== database) throw queueElsewhere(queue, engine.name);
          if (deadLetters !== null) await placeBeside(deadLetters, engine.name);
          return configure(engine);
        },
        deadLetters === null ? database : await databaseBeside(request, deadLetters, database),
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

    /** The queue loses its place, too. In home, a trigger sees to that. While home is away, nothing is deleted. */
    async deleteQueue(request) {
      const place = await placements.findNow(request.queue);
      await toQueue(request.queue, async (engine) => {
        await engine.verbs.deleteQueue(request);
        if (place && engine !== home)
          await placements.remove(place, async () => !(await engine.base.queues.lookNow(place.name)));
        else placements.forget(request.queue);
      });
    },
  };
}
