import type { Claims } from '../claim/claims.ts';
import { aroundRooms } from '../engine/around.ts';
import type { DatabaseEngine } from '../engine/open.ts';
import type { Verbs } from '../verbs.ts';
import { claimVerb } from './claims.ts';
import type { Lead } from './lead.ts';
import { isAway, type Members } from './members.ts';
import type { Accepting } from './mergedDatabases.ts';
import { mergedVerbs } from './mergedVerbs.ts';
import { newJobsOfSeveral } from './newJobs.ts';
import { createOnItsWay } from './onItsWay.ts';
import type { Placements } from './placements.ts';
import { queuesOfSeveral } from './queues.ts';
import { relayedChanges } from './relayedChanges.ts';
import { relayedLooks } from './relayedLooks.ts';
import type { Relocations } from './relocation/relocations.ts';
import { settlingOfSeveral } from './settling.ts';
import { createWhyRefused, ofBatch } from './whyRefused.ts';

type EngineVerbs = DatabaseEngine['verbs'];
type ToEngine<Request> = (
  request: Request,
  run: (engine: DatabaseEngine) => Promise<unknown>,
) => Promise<unknown>;

/** Verbs about one queue, which need nothing else. */
const OF_QUEUE = ['explainQueue', 'getQueueErrors', 'purgeQueue', 'redriveQueue', 'startOperation'] as const;

/** Verbs about one job. */
const OF_JOB = ['release', 'extend', 'waitForEnqueued'] as const;

/** Verbs about one batch. Its id leads to its queue, as that of a job does. */
const OF_BATCH = ['getBatch', 'waitForBatch', 'explainBatch', 'closeBatch', 'cancelBatch'] as const;

/** These verbs, each in the engine to which `to` leads. */
function each<Request, V extends keyof EngineVerbs>(names: readonly V[], to: ToEngine<Request>) {
  type AnyVerbs = Record<V, (request: Request) => Promise<unknown>>;
  const led = (verb: V) => (request: Request) =>
    to(request, ({ verbs }) => (verbs as unknown as AnyVerbs)[verb](request));
  return Object.fromEntries(names.map((verb) => [verb, led(verb)])) as unknown as Pick<EngineVerbs, V>;
}

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
  const { home, toQueue, toJob } = lead;
  const way = createOnItsWay(members, placements);
  const why = createWhyRefused(lead, placements);
  const parts = [...members.values()].map((engine) => ({
    name: engine.name,
    // Nothing asks a part to settle and claim.
    verbs: engine.verbs as Verbs,
    isAway: () => isAway(engine),
  }));

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
      ofBatch(id, () => toJob(id, run)),
    ),
    ...newJobsOfSeveral(lead, placements, way, why),
    ...settlingOfSeveral(lead, placements, why),
    ...relayedLooks(way, lead),
    ...relayedChanges(way, lead),
    ...queuesOfSeveral(lead, members, placements),
    ...aroundRooms({ relocateQueue: relocations.start }, home.base),

    claim: claimVerb(context.claim, members, placements),
  };
}
