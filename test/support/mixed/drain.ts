import type { Lease } from '../history.ts';
import { lookAtBatches } from './batchMaker.ts';
import { QUEUE_NAMES } from './queues.ts';
import type { Random } from './random.ts';
import { outcomeOf } from './workers.ts';
import type { World } from './world.ts';

const LEASE_SECONDS = 20;
/** Longer than any rate limit, delay or backoff of this workload. */
const STUCK_MS = 30_000;
/** What an hour leaves on a slow machine is worked off in less. */
const LONGEST_MS = 300_000;

/** Acks every job, until no unfinished job is left or none was claimed for 30 s. Jobs that are left then are stuck. */
export async function drain(world: World, random: Random): Promise<void> {
  const { cluster, record } = world;
  for (const queue of QUEUE_NAMES) {
    await cluster.call(random, 'POST', `/queues/${queue}/resume`);
    const paused = (await cluster.call(random, 'GET', `/queues/${queue}`))?.body.paused_groups ?? [];
    for (const group of paused)
      await cluster.call(random, 'POST', `/queues/${queue}/groups/${encodeURIComponent(group)}/resume`);
  }
  const end = performance.now() + LONGEST_MS;
  let moved = performance.now();
  while (performance.now() < Math.min(moved + STUCK_MS, end)) {
    const body = { queues: QUEUE_NAMES, limit: 100, lease_seconds: LEASE_SECONDS, wait_seconds: 0.3 };
    const answer = await cluster.call(random, 'POST', '/jobs/claim', body);
    const leases = (answer?.body.jobs ?? []).flatMap(
      (job: Parameters<typeof record.leased>[0]) => record.leased(job, LEASE_SECONDS) ?? [],
    );
    await ack(world, random, leases);
    if (leases.length > 0) moved = performance.now();
    // The last jobs of batches may have ended after the look at the queues: then followers have come since.
    else if ((await lookAtBatches(world, random)) && (await isDrained(world, random))) break;
  }
  await findAll(world, random);
  await lookAtBatches(world, random);
}

async function ack({ cluster, record }: World, random: Random, leases: Lease[]): Promise<void> {
  if (leases.length === 0) return;
  const sent = Date.now();
  const acks = leases.map(({ job, token }) => ({ id: job, lease_token: token }));
  const results: { status: number }[] =
    (await cluster.call(random, 'POST', '/jobs/settle', { acks }))?.body.acks ?? [];
  for (const [i, lease] of leases.entries())
    record.settled(lease, 'ack', sent, outcomeOf(results[i]?.status));
}

async function isDrained({ cluster }: World, random: Random): Promise<boolean> {
  const answer = await cluster.call(random, 'GET', '/queues');
  return (answer?.body.queues ?? []).every(({ counts }: { counts: { [state: string]: number } }) =>
    ['ready', 'scheduled', 'blocked', 'leased'].every((state) => counts[state] === 0),
  );
}

/** Records all jobs that are left. */
async function findAll({ cluster, record }: World, random: Random): Promise<void> {
  for (const queue of QUEUE_NAMES) {
    let cursor = '';
    do {
      const path = `/jobs?queue=${queue}&include=payload&limit=1000${cursor}`;
      const answer = await cluster.call(random, 'GET', path);
      if (!answer) throw new Error(`${path} was not answered`);
      for (const job of answer.body.jobs) record.found(job);
      cursor = answer.body.next_cursor ? `&cursor=${answer.body.next_cursor}` : '';
    } while (cursor);
  }
}
