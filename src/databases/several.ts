import { HOME } from '../config/databases.ts';
import { type DatabaseEngine, type Engines, type OpenOptions, openDatabaseEngine } from '../engine/open.ts';
import { createLeaseTimes } from '../leaseTimes.ts';
import { createLedger } from '../ledger.ts';
import { createMemory } from '../memory.ts';
import type { Database } from '../postgres/pool.ts';
import { claimsOfSeveral } from './claims.ts';
import { creationIn } from './creation.ts';
import { crossingOf } from './crossing.ts';
import { createLead } from './lead.ts';
import { createLearning } from './learning.ts';
import { type Members, placeAmong } from './members.ts';
import { createOpening, type OtherDatabases } from './opening.ts';
import { createPlacements, type Placements } from './placements.ts';
import { watchReadiness } from './readiness.ts';
import { acceptingIn } from './registry.ts';
import { createRelocations } from './relocation/relocations.ts';
import { sessionsElsewhere, sessionsOfSeveral } from './sessions.ts';
import { verbsOfSeveral } from './verbs.ts';

/** A start is refused. What has begun is stopped first: it would go on without its pools, and the process would not end. */
const afterStop =
  (stop: () => Promise<void>, log: OpenOptions['log']) =>
  async (refusal: unknown): Promise<never> => {
    await stop().catch((error) => log(error, 'a refused start was not stopped whole'));
    throw refusal;
  };

/**
 * What a replica does when it hears of places in a database. In home: a queue goes to another database, or has gone, and what
 * waits here looks where it is now. Without a queue, notifications may have been lost: the database may be another server.
 */
const hearPlaced =
  (placements: Placements, wake: (queue: string) => void, lost: (database: string) => void) =>
  (database: string) =>
  (queue?: string) => {
    if (database === HOME) placements.changed(queue);
    if (queue === undefined) lost(database);
    else wake(queue);
  };

/** What the guard asks of queues. */
const queuesForGuard = (placements: Placements): Engines['queues'] => ({
  ofJob: placements.ofJob,
  isKnown: (name) => placements.known(name) !== undefined,
  async refresh(names) {
    const found = await Promise.all(names.map(placements.find));
    return new Set(names.filter((_, i) => found[i]));
  },
});

/** The engines of a replica with several databases. Those that home knows may be away. @throws StartError */
export async function openSeveral(
  options: OpenOptions,
  { registry, list }: OtherDatabases,
): Promise<Engines> {
  const { db: homeDb, log } = options;
  const members: Members = new Map();
  const learner = homeDb.checkNew((client) => learning.admit(client));
  const learning = createLearning({ home: homeDb, learner, members, log });
  const placements = createPlacements(homeDb, learning, (queueId) => placeAmong(members, queueId));
  const ledger = createLedger();
  const sessions = sessionsOfSeveral(members, placements);
  const claims = claimsOfSeveral({ placements, sessions, ledger, log });
  const shared: OpenOptions = {
    ...options,
    memory: options.memory ?? createMemory(),
    ledger,
    leaseEnds: createLeaseTimes(),
  };
  let isBegun = false;
  const placed = hearPlaced(placements, claims.wake, (database) => {
    // Before that, nothing was lost: home has just learned.
    if (isBegun) void learning.heard(database);
  });
  const accepting = acceptingIn(homeDb);
  const now = () => home.base.clock.now();
  const relocations = createRelocations({ home: homeDb, now, members, placements, accepting, log });
  function add(name: string, db: Database, listenUrl: string): DatabaseEngine {
    const engine = openDatabaseEngine(name, {
      ...shared,
      db,
      listenUrl,
      creation: creationIn({ placements, learning, name, db, log }),
      crossing: crossingOf(name, members, placements),
      claimsOf: (own) => claims.add(name, own),
      sessionsElsewhere: sessionsElsewhere(name, members),
      placed: placed(name),
      ...(name === HOME ? { relocations } : {}),
    });
    members.set(name, engine);
    return engine;
  }

  const home = add(HOME, homeDb, options.listenUrl);
  const stopping = new AbortController();
  const opening = createOpening({ home: homeDb, registry, add, learning, log, stop: stopping.signal });
  async function stop(): Promise<void> {
    stopping.abort();
    await relocations.stop();
    await Promise.all([opening.ended(), learning.idle()]);
    await Promise.all([...members.values()].map((engine) => engine.stop()));
    await learner.close();
  }
  await opening.begin(list, home).catch(afterStop(stop, log));
  isBegun = true;

  const engines = [...members.values()];
  const lead = createLead(members, placements);
  return {
    home,
    verbs: verbsOfSeveral({ lead, placements, members, claim: claims.claim, accepting, relocations }),
    queues: queuesForGuard(placements),

    batchTraces: (ids) => lead.toJob(ids[0] as string, ({ rooms }) => rooms.batches.traces(ids)),

    readiness: watchReadiness(engines, stopping.signal),

    waitingForJobs: () => engines.reduce((sum, { rooms }) => sum + rooms.waits.waiting(), 0),

    stopWaiting() {
      for (const engine of engines) engine.stopWaiting();
    },

    stop,
  };
}
