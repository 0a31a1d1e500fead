import { createBase } from '../../src/engine/base.ts';
import { createRooms } from '../../src/engine/rooms.ts';
import { verbsOf } from '../../src/engine/verbs.ts';
import { unavailable } from '../../src/errors.ts';
import type { Job } from '../../src/job.ts';
import { type Duties, startDuties } from '../../src/maintenance/duties.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import type { Place } from '../../src/queues/elsewhere.ts';
import type { Crossing, RelayTarget } from '../../src/relay/relay.ts';
import type { NewJob } from '../../src/verbs/enqueue.ts';
import { asRole, createDatabase, onServer, SERVING_ROLE } from './database.ts';

/** The rooms of one database, as a replica that knows several has them. */
export type Side = ReturnType<typeof openSide>;

function openSide(name: string, url: string, db: Database, crossing: Crossing, errors: unknown[]) {
  const servingUrl = asRole(url, SERVING_ROLE);
  const log = (error: unknown) => errors.push(error);
  const base = createBase({ db, listenUrl: servingUrl, log, crossing });
  const rooms = createRooms(base, { operationStarted: () => undefined });
  let duties: Duties | undefined;
  return {
    name,
    base,
    rooms,
    relay: rooms.relay as NonNullable<typeof rooms.relay>,
    verbs: verbsOf(rooms),

    enqueue: (jobs: NewJob[]): Promise<Job[]> => rooms.enqueue.enqueue(jobs, (i) => `/jobs/${i}`),

    async startDuties(): Promise<void> {
      duties = startDuties({
        ...base,
        ...rooms,
        enqueueWithin: rooms.enqueue.enqueueWithin,
        operations: rooms.operationWork,
        lookAnywhere: () => undefined,
      });
      await duties.begun;
    },

    async stop(): Promise<void> {
      await duties?.stop();
    },
  };
}

export interface Databases {
  urls: Map<string, string>;
  /** The pools of all replicas. */
  pools: Map<string, Database>;
  places: Map<string, Place>;
  /** Creates a queue in this database, with a number of its own. */
  place(queue: string, database: string): Promise<void>;
  drop(): Promise<void>;
}

/** Databases of one Dibs, empty. */
export async function createDatabases(names = ['home', 'east', 'west']): Promise<Databases> {
  const made = await Promise.all(names.map(async (name) => [name, await createDatabase()] as const));
  const urls = new Map(made.map(([name, { url }]) => [name, url]));
  const places = new Map<string, Place>();
  let numbers = 100;
  const pools = new Map([...urls].map(([name, url]) => [name, openDatabase(asRole(url, SERVING_ROLE), 20)]));
  return {
    urls,
    pools,
    places,
    async place(queue, database) {
      const queueId = ++numbers;
      places.set(queue, { database, queueId });
      await onServer(urls.get(database) as string, 'insert into dibs.queues (id, name) values ($1, $2)', [
        queueId,
        queue,
      ]);
    },
    async drop() {
      for (const pool of pools.values()) await pool.close();
      for (const [, { drop }] of made) await drop();
    },
  };
}

/** A replica on several databases: its sides by their names. */
export function openReplica(
  { urls, pools, places }: Databases,
  {
    answerMs = 60_000,
    mostWaiting,
    targets = {},
    moving = new Set(),
    change = (db) => db,
  }: {
    /** How long an answer waits for its jobs. */
    answerMs?: number | undefined;
    mostWaiting?: number;
    /** What stands before the databases, in the way of parcels. */
    targets?: Record<string, Partial<RelayTarget>>;
    /** Queues that are being relocated. */
    moving?: Set<string>;
    change?: (db: Database, name: string) => Database;
  } = {},
) {
  const sides = new Map<string, Side>();
  const errors: unknown[] = [];
  const crossingOf = (self: string): Crossing => ({
    self,
    answerMs,
    mostWaiting,
    place: () => undefined,
    findElsewhere: async (queue) => crossingOf(self).elsewhere(queue),
    elsewhere(queue) {
      const place = places.get(queue);
      return place && place.database !== self ? place : undefined;
    },
    async databaseOf(queueId) {
      const [name, place] = [...places].find(([, place]) => place.queueId === queueId) ?? [];
      if (name !== undefined && moving.has(name)) throw unavailable(`Queue ${name} is being relocated.`);
      return place?.database;
    },
    at(name) {
      const side = sides.get(name);
      return side && { serves: side.base.db.serves, receive: side.rooms.receive, ...targets[name] };
    },
    attemptsOf: () => undefined,
  });
  for (const [name, url] of urls)
    sides.set(name, openSide(name, url, change(pools.get(name) as Database, name), crossingOf(name), errors));
  return {
    errors,
    at: (name: string) => sides.get(name) as Side,
    async stop() {
      for (const side of sides.values()) await side.stop();
    },
  };
}

/** The payloads of the jobs in a queue, in its order. */
export async function payloadsIn({ urls, places }: Databases, queue: string): Promise<unknown[]> {
  const { database, queueId } = places.get(queue) as Place;
  const rows = await onServer<{ payload: unknown }>(
    urls.get(database) as string,
    'select payload from dibs.jobs where queue_id = $1 order by position',
    [queueId],
  );
  return rows.map(({ payload }) => payload);
}

/** How many jobs wait in the relay of a database. */
export async function waitingIn({ urls }: Databases, database: string): Promise<number> {
  const [row] = await onServer<{ n: number }>(
    urls.get(database) as string,
    'select count(*)::integer as n from dibs.relay',
  );
  return row?.n ?? 0;
}
