import type pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Between } from '../../src/databases/relocation/context.ts';
import { createRecord } from '../../src/databases/relocation/record.ts';
import { workOn } from '../../src/databases/relocation/work.ts';
import { idSource } from '../../src/ids.ts';
import { type Database, type Db, openDatabase } from '../../src/postgres/pool.ts';
import { adHoc } from './adHoc.ts';
import { createDatabase, createOtherDatabase, openClient } from './database.ts';
import { type Service, startService } from './service.ts';
import { until } from './until.ts';

/** When a replica crashes: at its call with this number, before the database runs it or after. */
export interface Plan {
  at: number;
  when: 'before' | 'after';
  /** It does not crash, but is frozen until this settles. */
  thawed?: Promise<void>;
  /** The statements within transactions are counted, in place of all others. */
  isInside?: boolean;
  /** Is told of each call before the database runs it. */
  watch?: () => Promise<unknown>;
}

export const HEALTHY: Plan = { at: Number.POSITIVE_INFINITY, when: 'before' };

/** A Dibs over `home`, `a` and `b`, and replicas beside it that relocate queues, and crash or freeze while they do. */
export function useRelocatingReplicas() {
  const urls: Record<string, string> = {};
  const drops: (() => Promise<void>)[] = [];
  const dbs: Record<string, Database> = {};
  /** A connection to each, for the looks of the test. */
  const clients: Record<string, pg.Client> = {};
  let service: Service;
  beforeAll(async () => {
    for (const name of ['home', 'a', 'b']) {
      const { url, drop } = await (name === 'home' ? createDatabase() : createOtherDatabase());
      urls[name] = url;
      drops.push(drop);
      dbs[name] = openDatabase(url, 3);
      clients[name] = await openClient(url);
    }
    const { home, a, b } = urls as Record<'home' | 'a' | 'b', string>;
    service = await startService({ databaseUrl: home, others: { a, b } });
  });
  afterAll(async () => {
    await service.stop();
    for (const db of Object.values(dbs)) await db.close();
    for (const client of Object.values(clients)) await client.end();
    for (const drop of drops) await drop();
  });

  const on = async <Row extends object>(name: string, text: string): Promise<Row[]> =>
    (await (clients[name] as pg.Client).query<Row>(text)).rows;
  const home = <Row extends object>(text: string) => on<Row>('home', text);

  /**
   * A replica that crashes: nothing that it asks of a database is done after that, or answered, and its connections are closed. Or one
   * that is frozen, and then goes on as if nothing had happened.
   */
  function replica({ at, when, thawed, isInside = false, watch }: Plan) {
    let calls = 0;
    let copyAt = 0;
    let isWithinLast = false;
    const never = new Promise<never>(() => undefined);
    const copying = new Set<pg.Client>();
    let tellCrash: () => void = () => undefined;
    const crash = new Promise<void>((resolve) => {
      tellCrash = resolve;
    });
    async function call<T>(run: () => Promise<T>): Promise<T> {
      // A copy is one call with others in it. After it, these are done, too.
      if (isWithinLast) return run();
      await watch?.();
      const number = calls++;
      if (thawed) {
        if (number === at) tellCrash();
        if (number > at || (number === at && when === 'before')) await thawed;
        const answer = await run();
        if (number === at) await thawed;
        return answer;
      }
      if (number !== at) return number < at ? run() : never;
      isWithinLast = when === 'after';
      if (isWithinLast) await run().catch(() => undefined);
      isWithinLast = false;
      for (const client of copying)
        (client as unknown as { connection: pg.Connection }).connection.stream.destroy();
      tellCrash();
      return never;
    }
    const outside = <T>(run: () => Promise<T>): Promise<T> => (isInside ? run() : call(run));
    const within = (db: Db): Db => ({ query: (...args) => call(() => db.query(...args)) });
    /** Its transactions end when it crashes, as with its connections. */
    const endsWithCrash = <T>(work: Promise<T>): Promise<T> =>
      thawed
        ? work
        : Promise.race([work, crash.then(() => Promise.reject(new Error('The replica crashed')))]);
    const crashing = (db: Database): Database => ({
      ...db,
      query: (...args) => outside(() => db.query(...args)),
      transaction: (work, turn) =>
        outside(() =>
          db.transaction(
            (transaction) => endsWithCrash(work(isInside ? within(transaction) : transaction)),
            turn,
          ),
        ),
      withOwnClient: (name, use) => {
        copyAt ||= calls;
        return outside(() =>
          db.withOwnClient(name, (client) => {
            copying.add(client);
            return use(client).finally(() => copying.delete(client));
          }),
        );
      },
    });
    const engine = (name: string) =>
      ({
        name,
        base: {
          db: crashing(dbs[name] as Database),
          queues: {
            changed: () => undefined,
            lookNow: async (queue: string) =>
              (await on(name, `select from dibs.queues where name = '${queue}'`))[0],
          },
          leaseHorizon: { scanAll: () => undefined },
          scheduledHorizon: { scanAll: () => undefined },
          notifier: { ready: () => undefined },
        },
        rooms: { repair: { lookAgain: () => undefined } },
      }) as unknown as Between['source'];
    const atHome = crashing(dbs.home as Database);
    /** Takes the open relocation, before the replica of the service can. */
    const taking: Database = {
      ...atHome,
      query: (statement, parameters) =>
        outside(() =>
          (dbs.home as Database).transaction(async (transaction) => {
            await transaction.query(
              adHoc(`update dibs.relocations set worked_until = '-infinity' where phase <> 'ended'`),
            );
            return transaction.query(statement, parameters);
          }),
        ),
    };
    return {
      engine,
      take: createRecord(taking).take,
      record: createRecord(atHome),
      crash,
      calls: () => calls,
      copyAt: () => copyAt,
    };
  }

  const newId = idSource(Date.now);

  /** Works on the open relocation until the replica crashes, or it has ended. */
  async function work(plan: Plan) {
    const { engine, take, record, crash, calls, copyAt } = replica(plan);
    const stopping = new AbortController();
    const failures: unknown[] = [];
    const done = take(['home', 'a', 'b'], []).then(async (relocation) => {
      if (!relocation) return;
      const { source, target } = relocation;
      const others = Object.keys(urls).filter((name) => name !== source && name !== target);
      await workOn(
        relocation,
        { source: engine(source), target: engine(target), others: others.map(engine) },
        { record, stopping: stopping.signal, log: (error) => failures.push(error) },
      );
    });
    const ended = await Promise.race([done.then(() => true), crash.then(() => false)]);
    if (!plan.thawed) stopping.abort();
    return { calls: calls(), copyAt: copyAt(), failures, ended, done };
  }

  /** How its relocation ends. The replica of `service` may have taken it up meanwhile. */
  const endOf = (queue: string): Promise<string> =>
    until(async () => {
      const [row] = await home<{ state: string; phase: string }>(
        `select state, phase from dibs.relocations where queue = '${queue}' order by id desc`,
      );
      return row?.phase === 'ended' && row.state;
    });

  async function begin(queue: string, source: string, target: string) {
    await service.call('PUT', `/queues/${queue}`, { database: source, retention_seconds: 60 });
    const jobs = [];
    for (let i = 0; i < 6; i++) jobs.push({ queue, payload: i, ...(i > 3 ? { group: 'g' } : {}) });
    const { body } = await service.call('POST', '/jobs/batch', { jobs });
    const [place] = await home<{ queue_id: number }>(
      `select queue_id from dibs.placements where name = '${queue}'`,
    );
    const { queue_id } = place as { queue_id: number };
    await relocate(queue, queue_id, source, target);
    return { ids: body.jobs.map(({ id }: { id: string }) => id) as string[], queue_id };
  }

  async function relocate(queue: string, queue_id: number, source: string, target: string): Promise<void> {
    await (dbs.home as Database).transaction(async (transaction) => {
      await createRecord({ ...(dbs.home as Database), query: transaction.query }).insert({
        id: newId(0),
        queue_id,
        queue,
        source,
        target,
        dry_run: false,
        actor: null,
      });
      // The replica of the service leaves it to those of the test.
      await transaction.query(
        adHoc(
          `update dibs.relocations set worked_until = now() + interval '1 hour' where queue = '${queue}' and phase <> 'ended'`,
        ),
      );
    });
  }

  /** Each job is there once, in the order of the queue, in one database. */
  async function expectWhole(queue: string, queue_id: number, ids: string[], database: string) {
    expect((await service.call('GET', `/queues/${queue}`)).body.database).toBe(database);
    const { body } = await service.call('POST', '/jobs/claim', { queues: [queue], limit: 10 });
    expect(body.jobs.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 5));
    const acks = body.jobs.map(({ id, lease_token }: { id: string; lease_token: string }) => ({
      id,
      lease_token,
    }));
    const settled = await service.call('POST', '/jobs/settle', { acks });
    expect(settled.body.acks.map(({ status }: { status: number }) => status)).toEqual(acks.map(() => 200));
    const last = await service.call('POST', '/jobs/claim', { queues: [queue], limit: 10, wait_seconds: 5 });
    expect(last.body.jobs.map(({ id }: { id: string }) => id)).toEqual(ids.slice(5));
    for (const name of Object.keys(urls)) {
      const rows = await on<{ n: string }>(
        name,
        `select (select count(*) from dibs.relocating_jobs where queue_id = ${queue_id})
          + (select count(*) from dibs.relocating_queues where queue_id = ${queue_id})
          + (select count(*) from dibs.jobs where queue_id = ${queue_id} and '${name}' <> '${database}') as n`,
      );
      expect(Number(rows[0]?.n)).toBe(0);
    }
  }

  /** Replicas work on the last relocation of a queue until it has ended. */
  async function finish(queue: string): Promise<string> {
    await until(async () => {
      await work(HEALTHY);
      const open = await home(`select from dibs.relocations where queue = '${queue}' and phase <> 'ended'`);
      return open.length === 0;
    });
    return endOf(queue);
  }

  return {
    service: () => service,
    urls,
    dbs,
    home,
    newId,
    work,
    endOf,
    begin,
    relocate,
    expectWhole,
    finish,
  };
}
