import { setTimeout as sleep } from 'node:timers/promises';
import type { Lease, Outcome, SettleVerb } from '../history.ts';
import type { Intent } from '../life.ts';
import type { Answer } from './calls.ts';
import { QUEUE_NAMES } from './queues.ts';
import type { Random } from './random.ts';
import type { Shown, ShownLease } from './record.ts';
import { type WorkerSession, workerSession } from './session.ts';
import { someSpecs, withoutKeysElsewhere } from './specs.ts';
import type { World } from './world.ts';

let claims = 0;
const TOO_LATE = [404, 409];

export const outcomeOf = (status: number | undefined): Outcome =>
  status === undefined
    ? 'unknown'
    : status === 200
      ? 'done'
      : TOO_LATE.includes(status)
        ? 'refused'
        : 'unknown';

/** How a worker is going to settle a lease, with which follow-ups. */
interface Plan {
  lease: Lease;
  verb: SettleVerb;
  body: { lease_token: string; retry?: boolean; delay_seconds?: number; enqueue?: object[] };
  followUps: Intent[];
  /** Their queue was full, so nothing was carried out. */
  full?: boolean;
}

function planned({ record, inHome }: World, random: Random, lease: Lease): Plan {
  const { chance, oneOf } = random;
  const verb = oneOf<SettleVerb>([
    'ack',
    'ack',
    'ack',
    'ack',
    'ack',
    'ack',
    'ack',
    'nack',
    'nack',
    'release',
  ]);
  const body: Plan['body'] = { lease_token: lease.token };
  if (verb === 'nack' && chance(0.2)) body.retry = false;
  if (verb !== 'ack' && chance(0.7)) body.delay_seconds = oneOf([0, 0, 0.1, 0.5]);
  const hasFollowUps = verb !== 'release' && chance(0.2);
  if (!hasFollowUps) return { lease, verb, body, followUps: [] };
  const specs = withoutKeysElsewhere(someSpecs(random, 2));
  // A job of a batch may add to it, also when that is closed.
  const batch = record.lives.get(lease.job)?.intent.spec.batch;
  if (batch !== undefined && chance(0.4) && specs.every(({ queue }) => inHome.has(queue)))
    for (const spec of specs) spec.batch = batch;
  body.enqueue = specs;
  return { lease, verb, body, followUps: record.wanted(specs) };
}

interface SettleAnswer {
  status: number;
  state?: string;
  enqueued?: Shown[];
}

/** One try to settle. The outcome of all tries together is recorded. */
function settled({ record }: World, plan: Plan, sent: number, answer: SettleAnswer | undefined) {
  const { lease, verb, followUps } = plan;
  const before = lease.settled?.outcome;
  if (before === 'done') return;
  plan.full = answer?.status === 429 && followUps.length > 0;
  if (answer && !plan.full && ![200, 503, ...TOO_LATE].includes(answer.status))
    record.problems.push(`${verb} of job ${lease.job} was answered ${JSON.stringify(answer)}`);
  const now = plan.full ? 'refused' : outcomeOf(answer?.status);
  const outcome = before === 'unknown' && now === 'refused' ? 'unknown' : now;
  record.count(`${verb}: ${outcome}`);
  record.settled(lease, verb, lease.settled?.sent ?? sent, outcome, plan.body.retry === false);
  if (outcome === 'refused') record.answered(followUps, 'refused');
  if (outcome !== 'done' || followUps.length === 0) return;
  const { state, enqueued = [] } = answer as SettleAnswer;
  const expected = state === 'completed' || state === 'dead' ? followUps.length : 0;
  if (enqueued.length !== expected)
    record.problems.push(
      `${verb} of job ${lease.job}, now ${state}, enqueued ${enqueued.length} jobs of ${expected}`,
    );
  record.answered(followUps, enqueued.length > 0 ? enqueued : 'refused');
}

async function settle(world: World, random: Random, plans: Plan[]): Promise<void> {
  const sent = Date.now();
  if (random.chance(0.3)) {
    const listOf = (verb: SettleVerb) =>
      plans.filter((plan) => plan.verb === verb).map(({ lease, body }) => ({ id: lease.job, ...body }));
    const answer = await world.cluster.call(random, 'POST', '/jobs/settle', {
      acks: listOf('ack'),
      nacks: listOf('nack'),
      releases: listOf('release'),
    });
    const { acks = [], nacks = [], releases = [] } = answer?.body ?? {};
    const results = { ack: acks, nack: nacks, release: releases };
    for (const plan of plans) settled(world, plan, sent, results[plan.verb].shift());
  } else {
    await Promise.all(
      plans.map(async (plan) => {
        const path = `/jobs/${plan.lease.job}/${plan.verb}`;
        const abortAfterMs = random.chance(0.04) ? random.integer(1, 8) : undefined;
        const options = {
          abortAfterMs,
          expected: [...TOO_LATE, ...(plan.followUps.length > 0 ? [429] : [])],
        };
        const answer = await world.cluster.call(random, 'POST', path, plan.body, options);
        settled(world, plan, sent, answer && { ...answer.body, status: answer.status });
      }),
    );
  }
  const open = plans.filter(({ lease }) => lease.settled?.outcome === 'unknown');
  if (open.length > 0 && random.chance(0.5)) await settle(world, random, open);
  const withoutFollowUps = plans
    .filter(({ full }) => full)
    .map(({ lease, verb, body: { enqueue: _, ...body } }) => ({ lease, verb, body, followUps: [] }));
  if (withoutFollowUps.length > 0) await settle(world, random, withoutFollowUps);
}

async function extend(
  { cluster, record }: World,
  random: Random,
  session: WorkerSession,
  lease: Lease,
): Promise<void> {
  const sent = Date.now();
  const body = { lease_token: lease.token, lease_seconds: random.between(0.2, 1.5), progress: sent };
  const path = `/jobs/${lease.job}/extend`;
  const answer = await cluster.call(random, 'POST', path, body, { expected: TOO_LATE });
  record.extended(lease, sent, outcomeOf(answer?.status), answer?.body.lease_expires_at);
  session.extended(lease);
}

/** Works on a lease: in time, too slowly, or not to the end. A worker that dies settles nothing. */
async function work(
  world: World,
  random: Random,
  session: WorkerSession,
  lease: Lease,
): Promise<Plan | undefined> {
  if (random.chance(0.06)) return undefined;
  await sleep(random.between(0, 80));
  if (random.chance(0.15)) await extend(world, random, session, lease);
  if (random.chance(0.07)) await sleep(random.between(200, 1500));
  return planned(world, random, lease);
}

async function claim(world: World, random: Random, session: WorkerSession): Promise<Lease[]> {
  const { cluster, record } = world;
  const body = {
    queues: random.some(QUEUE_NAMES, 4),
    limit: random.oneOf([1, 1, 2, 5, 12]),
    lease_seconds: random.oneOf([0.5, 1, 2]),
    wait_seconds: random.oneOf([0, 0, 0.3, 1]),
    ...(random.chance(0.4) ? { claim_id: `claim ${++claims}` } : {}),
    ...(random.chance(0.9) ? session.claimed() : {}),
  };
  const note = (answer: Answer | undefined) => {
    const jobs: ShownLease[] = answer?.body.jobs ?? [];
    const leases = jobs.flatMap((job) => record.leased(job, body.lease_seconds) ?? []);
    session.tied(body.session, leases);
    return leases;
  };
  const send = () => {
    const abortAfterMs = random.chance(0.12) ? random.integer(1, 60) : undefined;
    const expected = body.session === undefined ? [] : [404];
    return cluster.call(random, 'POST', '/jobs/claim', body, { abortAfterMs, expected });
  };
  const first = await send();
  if (first?.status === 404) session.forget();
  if (!('claim_id' in body) || (first && !random.chance(0.1))) return note(first);
  const leases = note(first);
  const second = await send();
  const running = leases.every((lease) => lease.until > Date.now());
  const repeated: ShownLease[] = second?.body.jobs ?? [];
  if (
    second?.status === 200 &&
    running &&
    leases.length > 0 &&
    String(tokens(leases)) !== String(tokens(repeated))
  )
    record.problems.push(`${body.claim_id} was answered ${tokens(leases)}, and repeated ${tokens(repeated)}`);
  return [...leases, ...note(second)];
}

const tokens = (leases: { token?: string; lease_token?: string }[]) =>
  leases.map((lease) => lease.token ?? lease.lease_token).sort();

export async function worker(world: World, random: Random): Promise<void> {
  const session = workerSession(world, random.fork());
  while (!world.stopping()) {
    await session.turn();
    const leases = await claim(world, random, session);
    const plans = await Promise.all(leases.map((lease) => work(world, random, session, lease)));
    const rest = plans.filter((plan) => plan !== undefined);
    if (rest.length > 0) await settle(world, random, rest);
    await sleep(random.between(0, 30));
  }
  session.hangUp();
}
