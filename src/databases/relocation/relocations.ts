import {
  databaseClosed,
  invalidRequest,
  queueBusy,
  queueElsewhere,
  queueNotFound,
  unavailable,
} from '../../errors.ts';
import { idSource } from '../../ids.ts';
import { servedCallers } from '../../operations/servedCallers.ts';
import { isAlreadyRelocating } from '../../postgres/errorClasses.ts';
import type { Database } from '../../postgres/pool.ts';
import type { Operation, RelocateRequest } from '../../verbs/operations.ts';
import { engineAt, isAway, type Members } from '../members.ts';
import type { Accepting } from '../mergedDatabases.ts';
import type { Place, Placements } from '../placements.ts';
import { refuseBusy } from './busy.ts';
import { createRecord, type Relocation } from './record.ts';
import { workOn } from './work.ts';

/** A replica works on so many at once. */
const AT_ONCE = 4;

const awayRefusal = (name: string) => unavailable(`The database "${name}" does not answer. Try again later.`);

/** Moves queues from one database to another. See docs/decisions/0092-relocation.md. */
export function createRelocations(context: {
  home: Database;
  /** The time of home. */
  now(): number;
  members: Members;
  placements: Placements;
  accepting: Accepting;
  log(error: unknown, message: string): void;
}) {
  const { home, now, members, placements, accepting, log } = context;
  const record = createRecord(home);
  const newId = idSource(now);
  const stopping = new AbortController();
  const working = new Set<Promise<void>>();
  const served = servedCallers();

  async function check({ queue, to, dry_run, mayUse = () => true }: RelocateRequest): Promise<Place> {
    const place = await placements.findNow(queue);
    if (!place) throw queueNotFound(queue);
    const target = members.get(to);
    if (!target) throw invalidRequest([{ path: '/to', message: 'must be the name of a database' }]);
    if (place.database === to) throw queueElsewhere(queue, to);
    if (place.moving_to !== null)
      throw queueBusy(queue, `is being relocated to the database "${place.moving_to}"`);
    for (const engine of [engineAt(members, place), target])
      if (isAway(engine)) throw awayRefusal(engine.name);
    if (dry_run) return place;
    if (!(await accepting.find()).has(to)) throw databaseClosed(to);
    const { queue_id } = place;
    await refuseBusy(engineAt(members, place).base.db, queue_id, queue, mayUse);
    return place;
  }

  async function work(relocation: Relocation): Promise<void> {
    const [source, target] = [members.get(relocation.source), members.get(relocation.target)];
    if (!source || !target) return;
    const others = [...members.values()].filter((engine) => engine !== source && engine !== target);
    await workOn(relocation, { source, target, others }, { record, stopping: stopping.signal, log });
  }

  /** Takes those that nobody works on. They go on when this has returned. */
  async function run(): Promise<boolean> {
    while (working.size < AT_ONCE && !stopping.signal.aborted) {
      const relocation = await record.take([...members.keys()], served.list());
      if (!relocation) return false;
      served.add(relocation.actor);
      const done: Promise<void> = work(relocation)
        .catch((error) => log(error, 'a relocation was interrupted, it will go on'))
        .finally(() => working.delete(done));
      working.add(done);
    }
    return false;
  }

  return {
    record,

    /** Starts a relocation. A dry run only counts. */
    async start(request: RelocateRequest): Promise<Operation> {
      const { queue, to, dry_run = false, by = null } = request;
      const { queue_id, database } = await check(request);
      const asked = { id: newId(0), queue_id, queue, source: database, target: to, dry_run, actor: by };
      const operation = await record.insert(asked).catch((error) => {
        throw isAlreadyRelocating(error) ? queueBusy(queue, 'is being relocated') : error;
      });
      void run().catch((error) => log(error, 'a relocation did not begin at once, it will'));
      return operation;
    },

    /** The duty. */
    run,

    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(working);
    },
  };
}

export type Relocations = ReturnType<typeof createRelocations>;
