import { setTimeout as sleep } from 'node:timers/promises';
import { hasGroups, QUEUE_NAMES, SENT_HOME } from './queues.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

type Action = (world: World, random: Random) => Promise<unknown>;

const OVER = [404, 409];
const NEVER = Number.POSITIVE_INFINITY;

/** One of the jobs that were seen last. Most others are finished. */
const recent = ({ record }: World, random: Random) => {
  const lives = [...record.lives.values()].slice(-200);
  return lives.length > 0 ? random.oneOf(lives) : undefined;
};

const cancel: Action = async (world, random) => {
  const life = recent(world, random);
  if (!life) return;
  const entry = { sent: Date.now(), answered: NEVER, status: undefined as number | undefined };
  life.cancels.push(entry);
  const answer = await world.cluster.call(random, 'DELETE', `/jobs/${life.id}`, undefined, {
    expected: OVER,
  });
  entry.status = answer?.status;
  if (answer) entry.answered = Date.now();
};

const retry: Action = async (world, random) => {
  const life = recent(world, random);
  if (!life) return;
  life.retried = Math.min(life.retried, Date.now());
  await world.cluster.call(random, 'POST', `/jobs/${life.id}/retry`, {}, { expected: OVER });
};

const look: Action = async (world, random) => {
  const life = recent(world, random);
  if (!life) return;
  const tail = random.chance(0.5) ? '/explain' : '';
  await world.cluster.call(random, 'GET', `/jobs/${life.id}${tail}`, undefined, { expected: OVER });
};

/** A wait for a job must be answered when the job is finished, or when the time is over. */
const wait: Action = async (world, random) => {
  const life = recent(world, random);
  if (!life) return;
  const seconds = random.between(0.1, 2);
  const sent = performance.now();
  const stops = world.cluster.stops();
  const path = `/jobs/${life.id}?wait_seconds=${seconds}`;
  const answer = await world.cluster.call(random, 'GET', path, undefined, { expected: OVER });
  const waited = (performance.now() - sent) / 1000;
  const isEarly = answer?.status === 200 && answer.body.finished_at === null && waited < seconds - 0.05;
  if (isEarly && stops === world.cluster.stops())
    world.record.problems.push(`${path} was answered ${answer.body.state} after ${waited} s`);
};

const list: Action = ({ cluster }, random) =>
  cluster.call(random, 'GET', `/jobs?queue=${random.oneOf(QUEUE_NAMES)}&limit=50`);

const count: Action = ({ cluster }, random) => cluster.call(random, 'GET', '/queues');

const pause: Action = async ({ cluster }, random) => {
  const path = `/queues/${random.oneOf(QUEUE_NAMES)}`;
  await cluster.call(random, 'POST', `${path}/pause`);
  await sleep(random.between(10, 500));
  await cluster.call(random, 'POST', `${path}/resume`);
};

/** Older replicas know no pause of a group. */
const pauseGroup: Action = async ({ cluster }, random) => {
  const queue = random.oneOf(QUEUE_NAMES.filter(hasGroups));
  const group = random.chance(0.5) ? `long ${random.integer(1, 2)}` : `small ${random.integer(1, 30)}`;
  const path = `/queues/${queue}/groups/${encodeURIComponent(group)}`;
  await cluster.call(random, 'POST', `${path}/pause`, undefined, { expected: [404] });
  await sleep(random.between(10, 500));
  await cluster.call(random, 'POST', `${path}/resume`, undefined, { expected: [404] });
};

const redrive: Action = async ({ cluster, record }, random) => {
  const redriven = { queue: random.oneOf(QUEUE_NAMES), answered: NEVER };
  record.sweeps.redrives.push(redriven);
  const path = `/queues/${redriven.queue}/redrive`;
  const answer = await cluster.call(random, 'POST', path, random.oneOf([{}, { limit: 3 }]));
  if (answer) redriven.answered = Date.now();
};

/** Dead letters go back to the queue that they came from. */
const sendHome: Action = async ({ cluster, record }, random) => {
  const sent = { queue: SENT_HOME, answered: NEVER };
  record.sweeps.homes.push(sent);
  const answer = await cluster.call(random, 'POST', `/queues/${SENT_HOME}/redrive`, { home: true });
  if (answer) sent.answered = Date.now();
};

const purge: Action = async ({ cluster, record }, random) => {
  const purged = { queue: random.oneOf(QUEUE_NAMES.filter(hasGroups)), answered: NEVER };
  record.sweeps.purges.push(purged);
  const states = random.some(['ready', 'scheduled', 'blocked', 'dead'], 4);
  const answer = await cluster.call(random, 'POST', `/queues/${purged.queue}/purge`, { states });
  if (answer) purged.answered = Date.now();
};

const ACTIONS: Action[] = [
  ...Array(10).fill(cancel),
  ...Array(4).fill(retry),
  ...Array(4).fill(look),
  ...Array(4).fill(wait),
  list,
  count,
  pause,
  pauseGroup,
  pauseGroup,
  redrive,
  redrive,
  sendHome,
];

export async function meddler(world: World, random: Random): Promise<void> {
  while (!world.stopping()) {
    await random.oneOf(ACTIONS)(world, random);
    await sleep(random.between(10, 150));
  }
}

/** A purge explains every missing job that came before it. So it comes only now and then. */
export async function purger(world: World, random: Random): Promise<void> {
  while (!world.stopping()) {
    await sleep(random.between(1000, 6000));
    if (!world.stopping()) await purge(world, random);
  }
}

/** Moves queues from database to database. Those of home stay: SQL enqueues there. */
export async function relocator({ cluster, inHome, stopping }: World, random: Random): Promise<void> {
  const queues = QUEUE_NAMES.filter((queue) => !inHome.has(queue));
  const answer = await cluster.call(random, 'GET', '/databases');
  const names: string[] = answer?.body.databases.map(({ name }: { name: string }) => name) ?? [];
  while (!stopping() && names.length > 1 && queues.length > 0) {
    await sleep(random.between(500, 3000));
    const path = `/queues/${random.oneOf(queues)}/relocate`;
    await cluster.call(random, 'POST', path, { to: random.oneOf(names) }, { expected: [409] });
  }
}

export async function killer(world: World, random: Random): Promise<void> {
  while (!world.stopping()) {
    await sleep(random.between(500, 3500));
    if (!world.stopping()) await world.cluster.replaceOne(random);
  }
}
