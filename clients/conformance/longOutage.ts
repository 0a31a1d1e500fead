import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { onServer } from '../../test/support/database.ts';
import { unreliablePostgres } from '../../test/support/postgres.ts';
import { http, type Replica, startReplica } from '../../test/support/replica.ts';
import { until } from '../../test/support/until.ts';
import { startDriver, type WorkerHandle } from './driver.ts';
import { startProxy } from './proxy.ts';
import type { Library } from './suite.ts';

const REPLICAS = 2;
const PROCESSES = 4;
const WORKERS = 40;
const LEASE_SECONDS = 5;
const OUTAGE_MS = 20_000;
/** Each job is begun before the outage, and ends after it. */
const WORK_MS = 45_000;
const QUEUE = 'long';

/** Two replicas behind two addresses. Each address leads to a replica that lives, as behind a proxy that looks. */
async function startFleet() {
  const postgres = await unreliablePostgres();
  const start = () => startReplica({ DATABASE_URL: postgres.url });
  let replicas: Replica[] = await Promise.all(Array.from({ length: REPLICAS }, start));
  const proxies = await Promise.all(replicas.map(({ url }) => startProxy(url)));
  return {
    postgres,
    urls: proxies.map(({ url }) => url),
    call: (method: string, path: string, body?: unknown) =>
      http(replicas[0]?.url as string, method, path, body),
    killAll: () => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))),
    async startAll() {
      const starting = Array.from({ length: REPLICAS }, start);
      const { url: first } = await Promise.race(starting);
      for (const proxy of proxies) proxy.aim(first);
      replicas = await Promise.all(starting);
      for (const [i, proxy] of proxies.entries()) proxy.aim(replicas[i]?.url as string);
    },
    async end() {
      await this.killAll();
      for (const proxy of proxies) proxy.close();
      await postgres.remove();
    },
  };
}

type Fleet = Awaited<ReturnType<typeof startFleet>>;

const OUTAGES: [
  name: string,
  gone: (fleet: Fleet) => Promise<unknown>,
  back: (fleet: Fleet) => Promise<unknown>,
][] = [
  ['PostgreSQL was away', ({ postgres }) => postgres.stop(), ({ postgres }) => postgres.start()],
  ['all replicas were killed', (fleet) => fleet.killAll(), (fleet) => fleet.startAll()],
];

/** 40 workers in several processes, each with a job that takes longer than an outage that is four times as long as its lease. */
export function playLongOutages({ name, command, env, lacks = [] }: Library): void {
  describe(name, () => {
    test.each(OUTAGES)(
      'no job that is worked on runs twice after %s for 20 s, with leases of 5 s',
      async (_, gone, back) => {
        const fleet = await startFleet();
        const drivers = Array.from({ length: PROCESSES }, () => startDriver(command, env));
        const workers: WorkerHandle[] = [];
        const starts = () => workers.flatMap((worker) => worker.all('started'));
        try {
          await fleet.call('PUT', `/queues/${QUEUE}`, { retention_seconds: 3600 });
          const jobs = Array.from({ length: WORKERS }, () => ({
            queue: QUEUE,
            payload: { ms: WORK_MS, ignore_signal: !lacks.includes('expiry') },
          }));
          expect((await fleet.call('POST', '/jobs/batch', { jobs })).status).toBe(201);
          for (let i = 0; i < WORKERS; i++)
            workers.push(
              (drivers[i % PROCESSES] as (typeof drivers)[0]).start({
                url: fleet.urls[i % REPLICAS] as string,
                queues: [QUEUE],
                concurrency: 1,
                lease_seconds: LEASE_SECONDS,
                wait_seconds: 5,
              }),
            );
          await until(() => starts().length >= WORKERS, { what: 'all jobs begun' });
          await gone(fleet);
          await sleep(OUTAGE_MS);
          await back(fleet);
          await until(() => workers.flatMap((worker) => worker.all('finished')).length >= WORKERS, {
            what: 'all jobs done',
            withinMs: 2 * WORK_MS,
          });
          const rows = () =>
            onServer<{ state: string; deliveries: number }>(
              fleet.postgres.url,
              'select state, deliveries from dibs.jobs',
            );
          await until(async () => (await rows()).every(({ state }) => state === 'completed'), {
            what: 'all jobs completed',
          });
          expect((await rows()).filter(({ deliveries }) => deliveries !== 1)).toEqual([]);
          expect(starts()).toHaveLength(WORKERS);
        } finally {
          for (const worker of workers) if (!worker.isOver) worker.askToStop(0);
          await Promise.all(drivers.map((driver) => driver.end()));
          await fleet.end();
        }
      },
    );
  });
}
