import { enough, until } from '../until.ts';
import { batchMaker } from './batchMaker.ts';
import { breaker } from './breaker.ts';
import { createCluster } from './calls.ts';
import { drain } from './drain.ts';
import { killer, meddler, purger, relocator } from './meddlers.ts';
import { producer } from './producers.ts';
import { QUEUES } from './queues.ts';
import { createRandom, type Random } from './random.ts';
import { createRecord } from './record.ts';
import { sqlProducer } from './sqlProducer.ts';
import { worker } from './workers.ts';
import type { World } from './world.ts';

const REPLICAS = 3;
const ACTORS: { act(world: World, random: Random): Promise<void>; number: number }[] = [
  { act: producer, number: 8 },
  { act: sqlProducer, number: 1 },
  { act: batchMaker, number: 3 },
  { act: worker, number: 16 },
  { act: meddler, number: 4 },
  { act: purger, number: 1 },
  { act: breaker, number: 3 },
  { act: relocator, number: 1 },
  { act: killer, number: 1 },
];

const BACKOFF = { kind: 'constant', base_seconds: 0.2, jitter: 0.5 };

/** Runs producers, workers, meddlers and a killer against some replicas, acks the jobs that are left, and finds violations. */
export async function runMixed(databaseUrl: string, seed: number, seconds: number, oldFolder?: string) {
  const random = createRandom(seed);
  const record = createRecord();
  const cluster = await createCluster(databaseUrl, REPLICAS, record, oldFolder);
  let stopping = false;
  try {
    const inHome = new Set<string>();
    const world: World = { cluster, record, databaseUrl, inHome, stopping: () => stopping };
    for (const [queue, config] of Object.entries(QUEUES)) {
      const put = () => cluster.call(random, 'PUT', `/queues/${queue}`, { backoff: BACKOFF, ...config });
      const { body } = await until(put, { withinMs: 20_000 });
      if ((body.database ?? 'home') === 'home') inHome.add(queue);
    }
    const acting = Promise.all(
      ACTORS.flatMap(({ act, number }) => Array.from({ length: number }, () => act(world, random.fork()))),
    );
    const count = (what: string) => record.tally.get(what) ?? 0;
    // Enough to mean something. A quiet machine acks five times as many in this time.
    const isEnough = () => count('ack: done') > 4 * seconds && count('replicas ended by SIGKILL') > 0;
    await Promise.race([acting, enough(seconds * 1000, isEnough)]);
    stopping = true;
    await acting;
    await drain(world, random);
    const violations = [...record.violations(), ...(await cluster.stillHeld())];
    return { violations, record, complaints: cluster.complaints() };
  } finally {
    stopping = true;
    await cluster.end();
  }
}
