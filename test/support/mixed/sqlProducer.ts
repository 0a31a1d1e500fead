import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { openClient } from '../database.ts';
import type { Intent, Spec } from '../life.ts';
import type { Random } from './random.ts';
import type { Shown } from './record.ts';
import { someSpecs } from './specs.ts';
import type { World } from './world.ts';

const ENQUEUE = `select dibs.enqueue($1, $2, priority => $3, delay_seconds => $4, max_attempts => $5, "group" => $6,
  fairness_key => $7) as id`;
const QUEUE_FULL = '53400';

/** dibs.enqueue returns only an id: not the time of the enqueue, nor whether another job had the key. */
const isPlain = (spec: Spec) => spec.unique_key === undefined && spec.expires_in_seconds === undefined;

/** The job as an answer would show it. It was created after the intent was sent. */
const shown = (id: string, { spec, sent }: Intent) =>
  ({ id, created_at: new Date(sent).toISOString(), payload: spec.payload }) as Shown;

async function enqueue({ record, inHome }: World, random: Random, client: pg.Client): Promise<void> {
  const intents = record.wanted(
    someSpecs(random, 3).filter((spec) => isPlain(spec) && inHome.has(spec.queue)),
  );
  try {
    await client.query('begin');
    const jobs: Shown[] = [];
    for (const intent of intents) {
      const { queue, payload, priority, delay_seconds, max_attempts, group, fairness_key } = intent.spec;
      const values = [queue, payload, priority, delay_seconds, max_attempts, group, fairness_key];
      const { rows } = await client.query<{ id: string }>(ENQUEUE, values);
      jobs.push(shown(rows[0]?.id as string, intent));
      await sleep(random.between(0, 60));
    }
    const commits = random.chance(0.7);
    await client.query(commits ? 'commit' : 'rollback');
    record.count(`dibs.enqueue: ${commits ? 'committed' : 'rolled back'}`);
    record.answered(intents, commits ? jobs : 'refused');
  } catch (error) {
    if ((error as { code?: string }).code !== QUEUE_FULL) throw error;
    await client.query('rollback');
    record.count('dibs.enqueue: full');
    record.answered(intents, 'refused');
  }
}

/** Enqueues in its own transactions, and rolls some of them back. */
export async function sqlProducer(world: World, random: Random): Promise<void> {
  const client = await openClient(world.databaseUrl);
  try {
    while (!world.stopping()) {
      await enqueue(world, random, client);
      await sleep(random.between(20, 300));
    }
  } finally {
    await client.end();
  }
}
