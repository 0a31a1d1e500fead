import type { DatabaseEngine } from '../engine/open.ts';
import type { Rooms } from '../engine/rooms.ts';
import { createSettleMany } from '../settle/settleMany.ts';
import type { Verbs } from '../verbs.ts';
import type { Lead } from './lead.ts';
import type { Placements } from './placements.ts';

type EngineVerbs = DatabaseEngine['verbs'];
type ToEngine<Request> = (
  request: Request,
  run: (engine: DatabaseEngine) => Promise<unknown>,
) => Promise<unknown>;

/** Verbs about one queue, which they do not create. */
const OF_QUEUE = [
  'getQueue',
  'explainQueue',
  'getQueueErrors',
  'resumeQueue',
  'purgeQueue',
  'redriveQueue',
  'startOperation',
] as const;

/** Verbs about one job. */
const OF_JOB = [
  'ack',
  'nack',
  'release',
  'extend',
  'getJob',
  'waitForJob',
  'waitForEnqueued',
  'explainJob',
  'getJobHistory',
  'cancelJob',
  'retryJob',
  'changeJob',
] as const;

const DEFAULT = 'default';
const queuesOf = (jobs: { queue?: string }[]) => jobs.map(({ queue = DEFAULT }) => queue);

/** These verbs, each in the engine to which `to` leads. */
function each<Request, V extends keyof EngineVerbs>(names: readonly V[], to: ToEngine<Request>) {
  type AnyVerbs = Record<V, (request: Request) => Promise<unknown>>;
  const led = (verb: V) => (request: Request) =>
    to(request, ({ verbs }) => (verbs as unknown as AnyVerbs)[verb](request));
  return Object.fromEntries(names.map((verb) => [verb, led(verb)])) as unknown as Pick<EngineVerbs, V>;
}

/** Runs an item of a settlement in the rooms of a database. Its replicas rest no more. */
const inRooms =
  <T>(run: (rooms: Rooms) => Promise<T>) =>
  ({ base, rooms }: DatabaseEngine): Promise<T> => {
    const told = base.rest.asked(true);
    return told ? told.then(() => run(rooms)) : run(rooms);
  };

/** The verbs over several databases: each leads to the engines that its request concerns. */
export function verbsOfSeveral(lead: Lead, placements: Placements): Omit<Verbs, 'settleAndClaim'> {
  const { home, toQueue, toNew, toJob } = lead;

  return {
    ...home.verbs,
    ...each<{ queue: string }, (typeof OF_QUEUE)[number]>(OF_QUEUE, ({ queue }, run) => toQueue(queue, run)),
    ...each<{ id: string }, (typeof OF_JOB)[number]>(OF_JOB, ({ id }, run) => toJob(id, run)),
    // The queue is there when its verb runs: the statements of these verbs would create it without a place.
    ...each<{ queue: string }, 'configureQueue' | 'pauseQueue'>(
      ['configureQueue', 'pauseQueue'],
      ({ queue }, run) =>
        toNew([queue], async (engine) => {
          await engine.base.queues.open(queue);
          return run(engine);
        }),
    ),

    enqueue: (request) => toNew(queuesOf(request.jobs), ({ verbs }) => verbs.enqueue(request)),
    enqueueOnce: (request) => toNew(queuesOf(request.jobs), ({ verbs }) => verbs.enqueueOnce(request)),

    claim: (request) => toQueue(request.queues?.[0] ?? DEFAULT, ({ verbs }) => verbs.claim(request)),

    settle: createSettleMany({
      check: home.rooms.enqueue.check,
      ack: (item, at) =>
        toJob(
          item.id,
          inRooms(({ followUps }) => followUps.ack(item, at)),
        ),
      nack: (item, at) =>
        toJob(
          item.id,
          inRooms(({ followUps }) => followUps.nack(item, at)),
        ),
      release: (item) =>
        toJob(
          item.id,
          inRooms(({ settlement }) => settlement.release(item)),
        ),
      extend: (item) =>
        toJob(
          item.id,
          inRooms(({ settlement }) => settlement.extend(item)),
        ),
    }),

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
