import { setTimeout as sleep } from 'node:timers/promises';
import type { Spec } from '../life.ts';
import { sendRepeatedly } from './producers.ts';
import { deadLettersOf, hasGroups, QUEUES } from './queues.ts';
import type { Random } from './random.ts';
import { anySpec, keyless, lasting, someSpecs } from './specs.ts';
import type { World } from './world.ts';

/** Jobs of these queues are seen in any case: nobody purges them, no limit refuses them, and they stay there when they are dead. */
const isForFollowers = (queue: string) =>
  !hasGroups(queue) && QUEUES[queue]?.max_ready === undefined && deadLettersOf(queue) === undefined;

/** Jobs of one database: those of a batch are. */
const inHomeOnly = ({ inHome }: World, specs: Spec[]) => specs.filter(({ queue }) => inHome.has(queue));

/** A follower is enqueued in any case: no other job has its key. It is seen in any case: it does not expire. */
function followerSpec({ inHome }: World, random: Random): Spec {
  const queue = random.oneOf([...inHome].filter(isForFollowers));
  return keyless(lasting(anySpec(random, queue)));
}

/** Creates a batch with some jobs and both followers. `outer`: its `on_end` belongs to that batch. */
async function create(world: World, random: Random, closed: boolean, outer?: string) {
  const { record, inHome } = world;
  // The answer does not tell which of them are duplicates.
  const specs = inHomeOnly(world, someSpecs(random, 8)).filter((spec) => spec.unique_key === undefined);
  const ends = { on_success: followerSpec(world, random), on_end: followerSpec(world, random) };
  if (outer !== undefined) ends.on_end.batch = outer;
  const body = {
    queue: random.oneOf([...inHome]),
    jobs: specs.map((spec) => ({ ...spec })),
    ...ends,
    closed,
  };
  const jobs = record.wanted(specs);
  const [on_success, on_end] = record.wanted([ends.on_success, ends.on_end]);
  const answer = await sendRepeatedly(world, random, '/batches', body);
  if (answer && answer.status >= 300)
    record.answered([...jobs, on_success, on_end] as typeof jobs, 'refused');
  if (!answer || answer.status >= 300 || !on_success || !on_end) return undefined;
  const { id } = answer.body;
  for (const intent of jobs) {
    intent.spec.batch = id;
    intent.outcome = 'done';
    intent.answered = Date.now();
  }
  record.batches.push({ id, on_success, on_end });
  return id as string;
}

async function add(world: World, random: Random, batch: string): Promise<void> {
  const { record } = world;
  const jobs = inHomeOnly(world, someSpecs(random, 5)).map((spec) => ({ ...spec, batch }));
  if (jobs.length === 0) return;
  const intents = record.wanted(jobs);
  const answer = await sendRepeatedly(world, random, '/jobs/batch', { jobs });
  if (answer) record.answered(intents, answer.status < 300 ? answer.body.jobs : 'refused');
}

/** Until it is certain. A close whose answer was lost has closed it. */
async function close({ cluster }: World, random: Random, batch: string): Promise<void> {
  for (;;) {
    const answer = await cluster.call(random, 'POST', `/batches/${batch}/close`, undefined, {
      expected: [409],
    });
    if (answer) return;
    await sleep(random.between(10, 100));
  }
}

async function make(world: World, random: Random, outer?: string): Promise<void> {
  const closed = random.chance(0.3);
  const batch = await create(world, random, closed, outer);
  if (batch === undefined || closed) return;
  for (let adds = random.integer(0, 3); adds > 0; adds--) {
    await add(world, random, batch);
    await sleep(random.between(0, 200));
  }
  await close(world, random, batch);
}

async function makeNested(world: World, random: Random): Promise<void> {
  const outer = await create(world, random, false);
  if (outer === undefined) return;
  await Promise.all([make(world, random.fork(), outer), make(world, random.fork(), outer)]);
  await close(world, random, outer);
}

/** Makes batches. It leaves none open. */
export async function batchMaker(world: World, random: Random): Promise<void> {
  // Over several databases, home may have none of the queues.
  if (![...world.inHome].some(isForFollowers)) return;
  while (!world.stopping()) {
    await (random.chance(0.2) ? makeNested(world, random) : make(world, random));
    await sleep(random.between(50, 500));
  }
}

/** Looks at each batch. Returns whether all have ended. */
export async function lookAtBatches({ cluster, record }: World, random: Random): Promise<boolean> {
  for (const batch of record.batches) {
    const answer = await cluster.call(random, 'GET', `/batches/${batch.id}`, undefined, { expected: [404] });
    if (answer?.status === 200) batch.found = answer.body;
    else if (answer) delete batch.found;
  }
  return record.batches.every(({ found }) => found?.state === 'succeeded' || found?.state === 'ended');
}
