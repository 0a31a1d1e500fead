import { setTimeout as sleep } from 'node:timers/promises';
import { HOME } from '../config/databases.ts';
import { type DatabaseEngine, type Engines, type OpenOptions, openDatabaseEngine } from '../engine/open.ts';
import { isOutage } from '../errors.ts';
import { createLeaseTimes } from '../leaseTimes.ts';
import { createLedger } from '../ledger.ts';
import { createMemory } from '../memory.ts';
import { whyNotReady } from '../postgres/migrate.ts';
import type { Database } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import { createLead } from './lead.ts';
import { isAway, type Member, type Members } from './members.ts';
import { createPlacements, type Placements } from './placements.ts';
import { checkIn, type Registry } from './registry.ts';
import { verbsOfSeveral } from './verbs.ts';

const createNumbered = planned('queues/create_numbered');

/** A database that does not answer at the start is tried again so often. */
const AGAIN_MS = 1000;

/** A database beside home. */
export interface OtherDatabase {
  name: string;
  db: Database;
  listenUrl: string;
  /** Brings its schema up to date. */
  migrate(): Promise<unknown>;
}

/** The databases beside home, and what home knows of them. */
export interface OtherDatabases {
  registry: Registry;
  list: OtherDatabase[];
}

/** Creates queues of a database, with the numbers of their places. */
const creationIn = (placements: Placements, name: string, db: Database) => (names: string[]) =>
  placements.creating(name, names, (places) =>
    db.query(createNumbered, {
      ids: places.map(({ queue_id }) => queue_id),
      names: places.map((place) => place.name),
    }),
  );

/** Opens a database that home knows, as soon as it answers. @throws StartError when it is another one */
async function openKnown(member: Member, open: () => Promise<void>, stop: AbortSignal): Promise<void> {
  const { log } = member.engine.base;
  while (!member.isOpen && !stop.aborted)
    try {
      await open();
    } catch (error) {
      log(error, `the database "${member.engine.name}" is not open yet`);
      await sleep(AGAIN_MS, undefined, { signal: stop }).catch(() => undefined);
    }
}

/** The engines of a replica with several databases. Those that home knows may be away. @throws StartError */
export async function openSeveral(
  options: OpenOptions,
  { registry, list }: OtherDatabases,
): Promise<Engines> {
  const placements = createPlacements(options.db);
  const shared: OpenOptions = {
    ...options,
    memory: options.memory ?? createMemory(),
    ledger: createLedger(),
    leaseEnds: createLeaseTimes(),
  };
  const members: Members = new Map();
  function add(name: string, db: Database, listenUrl: string): Member {
    const createQueues = creationIn(placements, name, db);
    const engine = openDatabaseEngine(name, { ...shared, db, listenUrl, createQueues });
    const member = { engine, isOpen: false };
    members.set(name, member);
    return member;
  }

  const home = add(HOME, options.db, options.listenUrl);
  const stopping = new AbortController();
  const opening: Promise<void>[] = [];
  for (const { name, db, listenUrl, migrate } of list) {
    const member = add(name, db, listenUrl);
    const open = async () => {
      await migrate();
      await checkIn(options.db, registry, name, db);
      await member.engine.begin();
      member.isOpen = true;
    };
    const isKnown = registry.known.has(name);
    await open().catch((error) => {
      if (!isKnown || !isOutage(error)) throw error;
      opening.push(openKnown(member, open, stopping.signal));
    });
  }
  await home.engine.begin();
  home.isOpen = true;

  const engines = (): DatabaseEngine[] => [...members.values()].map(({ engine }) => engine);
  return {
    home: home.engine,
    verbs: verbsOfSeveral(createLead(members, placements), placements),
    queues: {
      ofJob: placements.ofJob,
      isKnown: (name) => placements.known(name) !== undefined,
      refresh: async (names) => {
        const found = await Promise.all(names.map(placements.find));
        return new Set(names.filter((_, i) => found[i]));
      },
    },

    /** It is ready while any database takes writes. */
    async whyNotReady() {
      const reasons = await Promise.all(
        [...members].map(async ([name, member]) => {
          const reason = isAway(member)
            ? 'It does not answer.'
            : await whyNotReady(member.engine.base.db).catch((error: Error) => error.message);
          return reason && `${name}: ${reason}`;
        }),
      );
      return reasons.every((reason) => reason) ? reasons.join(' ') : undefined;
    },

    waitingForJobs: () => engines().reduce((sum, { rooms }) => sum + rooms.waits.waiting(), 0),

    stopWaiting() {
      for (const engine of engines()) engine.stopWaiting();
    },

    async stop() {
      stopping.abort();
      await Promise.all(opening);
      await Promise.all(engines().map((engine) => engine.stop()));
    },
  };
}
