import type { Claims } from '../claim/claims.ts';
import { aroundRooms } from '../engine/around.ts';
import type { DatabaseEngine } from '../engine/open.ts';
import type { Rooms } from '../engine/rooms.ts';
import { queueNameOf } from '../enqueue/intoQueues.ts';
import { batchNotFound, Refusal } from '../errors.ts';
import { isUuid } from '../ids.ts';
import type { Job } from '../job.ts';
import { jobOf } from '../schedules/schedules.ts';
import { createSettleMany } from '../settle/settleMany.ts';
import { queuesOfBatch } from '../verbs/batches.ts';
import type { NewJob } from '../verbs/enqueue.ts';
import type { Verbs } from '../verbs.ts';
import { claimVerb } from './claims.ts';
import type { Lead } from './lead.ts';
import { isAway, type Members } from './members.ts';
import type { Accepting } from './mergedDatabases.ts';
import { mergedVerbs } from './mergedVerbs.ts';
import { createOnItsWay } from './onItsWay.ts';
import type { Placements } from './placements.ts';
import { queuesOfSeveral } from './queues.ts';
import { relayedChanges } from './relayedChanges.ts';
import { relayedLooks } from './relayedLooks.ts';
import type { Relocations } from './relocation/relocations.ts';

type EngineVerbs = DatabaseEngine['verbs'];
type ToEngine<Request> = (
  request: Request,
  run: (engine: DatabaseEngine) => Promise<unknown>,
) => Promise<unknown>;

/** Verbs about one queue, which need nothing else. */
const OF_QUEUE = ['explainQueue', 'getQueueErrors', 'purgeQueue', 'redriveQueue', 'startOperation'] as const;

/** Verbs about one job. */
const OF_JOB = ['ack', 'nack', 'release', 'extend', 'waitForEnqueued'] as const;

/** Verbs about one batch. Its id leads to its queue, as that of a job does. */
const OF_BATCH = ['getBatch', 'waitForBatch', 'explainBatch', 'closeBatch', 'cancelBatch'] as const;

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

/**
 * The verbs over several databases: each leads to the engines that its request concerns. Keys, the audit and schedules are
 * in home.
 */
export function verbsOfSeveral(context: {
  lead: Lead;
  members: Members;
  placements: Placements;
  claim: Claims['claim'];
  accepting: Accepting;
  relocations: Relocations;
}): Omit<Verbs, 'settleAndClaim'> {
  const { lead, members, placements, relocations } = context;
  const { home, toQueue, toNew, toJob } = lead;
  const way = createOnItsWay(members, placements);
  const parts = [...members.values()].map((engine) => ({
    name: engine.name,
    // Nothing asks a part to settle and claim.
    verbs: engine.verbs as Verbs,
    isAway: () => isAway(engine),
  }));
  /** Where new queues of jobs of a batch are to be: beside it. Undefined where they are in none. */
  async function databaseOfBatch(jobs: NewJob[]): Promise<string | undefined> {
    const batch = jobs.find((job) => job.batch !== undefined)?.batch;
    if (batch === undefined || !isUuid(batch)) return undefined;
    return (await placements.ofJob(batch))?.database;
  }
  /** To the first of the queues of these jobs. What waits for them from before goes first. */
  const toQueuesOf = <T>(jobs: NewJob[], run: (engine: DatabaseEngine) => Promise<T>, wish?: string) => {
    const queues = jobs.map(queueNameOf);
    const inOrder = async (engine: DatabaseEngine): Promise<T> => {
      await way.sendFirst([...new Set(queues)], engine.name);
      return run(engine);
    };
    return toNew(queues, inOrder, wish);
  };
  const item = <T>(id: string, run: (rooms: Rooms) => Promise<T>): Promise<T> => toJob(id, inRooms(run));

  return {
    ...home.verbs,
    ...mergedVerbs(parts, toQueue, context.accepting, {
      name: home.name,
      verbs: relocations.record,
      isAway: () => isAway(home),
    }),
    ...each<{ queue: string }, (typeof OF_QUEUE)[number]>(OF_QUEUE, ({ queue }, run) => toQueue(queue, run)),
    ...each<{ id: string }, (typeof OF_JOB)[number]>(OF_JOB, ({ id }, run) => toJob(id, run)),
    ...each<{ id: string }, (typeof OF_BATCH)[number]>(OF_BATCH, ({ id }, run) =>
      toJob(id, run).catch((error) => {
        throw error instanceof Refusal && error.code === 'job_not_found' ? batchNotFound(id) : error;
      }),
    ),
    // What it names and is not there yet comes into the same database.
    createBatch: (request) =>
      toNew([request.queue], (engine) =>
        toNew(
          [request.queue, ...queuesOfBatch(request)],
          ({ verbs }) => verbs.createBatch(request),
          engine.name,
        ),
      ),
    ...relayedLooks(way, lead),
    ...relayedChanges(way, lead),
    ...queuesOfSeveral(lead, members, placements),
    ...aroundRooms({ relocateQueue: relocations.start }, home.base),

    async enqueue(request) {
      const wish = await databaseOfBatch(request.jobs);
      return toQueuesOf(request.jobs, ({ verbs }) => verbs.enqueue(request), wish);
    },
    /** The schedule is in home. Its job is enqueued where its queue is. */
    async triggerSchedule({ trace, ...named }) {
      const job = { ...jobOf(await home.verbs.getSchedule(named)), trace };
      const jobs = await toQueuesOf([job], ({ verbs }) => verbs.enqueue({ jobs: [job], at: () => '' }));
      return jobs[0] as Job;
    },
    async enqueueOnce(request) {
      const wish = await databaseOfBatch(request.jobs);
      return toQueuesOf(request.jobs, ({ verbs }) => verbs.enqueueOnce(request), wish);
    },

    claim: claimVerb(context.claim, members, placements),

    settle: createSettleMany(
      {
        check: home.rooms.enqueue.check,
        ack: (ack, at) => item(ack.id, ({ followUps }) => followUps.ack(ack, at)),
        nack: (nack, at) => item(nack.id, ({ followUps }) => followUps.nack(nack, at)),
        release: (release) => item(release.id, ({ settlement }) => settlement.release(release)),
        extend: (extend) => item(extend.id, ({ settlement }) => settlement.extend(extend)),
      },
      'its items',
    ),
  };
}
