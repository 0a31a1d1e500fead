import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Claimed } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { type Lease, recordHistory, type SettleVerb, TOLERANCE_MS } from '../support/history.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { onAll } from '../support/severalDatabases.ts';

const QUEUE = 'several';
const GROUPS = 3;
const WORKERS = 12;
const CHAOS_MS = 10_000;
const KILL_MS = 4000;

const random = (least: number, most: number) => least + Math.random() * (most - least);
const oneOf = <T>(values: T[]) => values[Math.floor(Math.random() * values.length)] as T;

/** A lease of a job of a group. The worker certainly had it from `answered` until `over`. */
interface GroupLease {
  lease: Lease;
  answered: number;
  over: number;
}
/** A number of jobs at once that was asked for. It may have held from `sent` on. */
interface Allowed {
  jobs: number;
  sent: number;
  /** When it was certain. Infinity: there was no answer. */
  answered: number;
}

let database: Awaited<ReturnType<typeof createDatabase>>;
let replicas: Replica[];
let killed: Replica | undefined;
let stopping = false;
const history = recordHistory();
const leasesOf = new Map<string, GroupLease[]>();
/** The jobs of each group that one producer enqueued, in order. */
const series: Map<string, string[]>[] = [];
/** The first delivery of a job: when its claim was sent, and when it was answered. */
const begun = new Map<string, { sent: number; answered: number }>();
const allowed: Allowed[] = [];

beforeAll(async () => {
  database = await createDatabase();
  replicas = await Promise.all([1, 2, 3].map(() => startReplica({ DATABASE_URL: database.url })));
});
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.end('SIGKILL')));
  await database.drop();
});

/** A call to any living replica. Undefined when no answer came. */
async function call(method: string, path: string, body?: object) {
  const { url } = oneOf(replicas.filter((replica) => replica !== killed));
  const answer = await http(url, method, path, body).catch(() => undefined);
  if (answer && answer.status >= 500) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
  return answer;
}

async function allow(jobs: number): Promise<void> {
  const one: Allowed = { jobs, sent: Date.now(), answered: Number.POSITIVE_INFINITY };
  allowed.push(one);
  const answer = await call('PUT', `/queues/${QUEUE}`, { group_concurrency: jobs });
  if (answer) one.answered = Date.now();
}

/** The most jobs of a group that may have begun at this time. */
function mostAt(time: number): number {
  const most = allowed.filter(({ sent }, i) => {
    const over = Math.min(...allowed.slice(i + 1).map(({ answered }) => answered));
    return sent <= time + TOLERANCE_MS && over >= time - TOLERANCE_MS;
  });
  return Math.max(...most.map(({ jobs }) => jobs));
}

async function produce(): Promise<void> {
  const own = new Map<string, string[]>();
  series.push(own);
  while (!stopping) {
    const jobs = Array.from({ length: Math.ceil(random(0, 8)) }, () => ({
      queue: QUEUE,
      group: `g${Math.floor(random(0, GROUPS))}`,
      priority: oneOf([0, 0, 0, 3]),
      backoff: { kind: 'constant', base_seconds: oneOf([0, 0.2]) },
      max_attempts: 1000,
    }));
    const answer = await call('POST', '/jobs/batch', { jobs });
    for (const { id, group } of answer?.body.jobs ?? []) {
      history.enqueued(id);
      own.set(group, [...(own.get(group) ?? []), id]);
    }
    await sleep(random(20, 100));
  }
}

async function settle(one: GroupLease, verb: SettleVerb): Promise<void> {
  const { lease } = one;
  const sent = Date.now();
  one.over = Math.min(one.over, sent);
  const answer = await call('POST', `/jobs/${lease.job}/${verb}`, { lease_token: lease.token });
  history.settled(
    lease,
    verb,
    sent,
    answer === undefined ? 'unknown' : answer.status < 300 ? 'done' : 'refused',
  );
}

async function claim(wish: object, leaseSeconds: number): Promise<GroupLease[]> {
  const sent = Date.now();
  const answer = await call('POST', '/jobs/claim', { queues: [QUEUE], lease_seconds: leaseSeconds, ...wish });
  const answered = Date.now();
  const jobs: (Claimed & { group: string })[] = answer?.body.jobs ?? [];
  const own = jobs.map(({ group }) => group);
  expect(new Set(own).size, 'jobs of one group are never together in one claim').toBe(own.length);
  return jobs.map((job) => {
    const lease = history.leased(job, leaseSeconds);
    const one = { lease, answered, over: lease.until };
    if (job.deliveries === 1 && !begun.has(job.id)) begun.set(job.id, { sent, answered });
    leasesOf.set(job.group, [...(leasesOf.get(job.group) ?? []), one]);
    return one;
  });
}

async function work(one: GroupLease): Promise<void> {
  if (Math.random() < 0.05) return;
  await sleep(random(50, 300));
  await settle(one, oneOf(['ack', 'ack', 'ack', 'ack', 'nack', 'release']));
}

async function worker(): Promise<void> {
  while (!stopping) {
    const leases = await claim({ limit: oneOf([1, 1, 5]), wait_seconds: random(0, 0.5) }, oneOf([0.3, 1]));
    await Promise.all(leases.map(work));
  }
}

async function change(): Promise<void> {
  while (!stopping) {
    await allow(oneOf([1, 2, 3, 4]));
    await sleep(random(100, 600));
  }
}

/** Acks jobs until none remains, for up to 60 s. Returns the jobs that are stuck. */
async function drain(): Promise<unknown[]> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const left = await onAll(database.url, 'select id, state, is_head, head_place from dibs.jobs');
    if (left.length === 0 || Date.now() > deadline) return left;
    const leases = await claim({ limit: 100, wait_seconds: 0.2 }, 30);
    await Promise.all(leases.map((one) => settle(one, 'ack')));
  }
}

/** Leases that certainly began while as many others of their group ran as may. */
function tooMany(): string[] {
  return [...leasesOf.values()].flatMap((leases) =>
    leases.flatMap(({ lease, answered }) => {
      const running = leases.filter(
        (other) =>
          other.lease !== lease &&
          other.answered < lease.start - TOLERANCE_MS &&
          other.over > answered + TOLERANCE_MS,
      );
      const most = mostAt(lease.start);
      return running.length < most
        ? []
        : [`job ${lease.job} began beside ${running.length} others of ${most}`];
    }),
  );
}

/** Jobs that certainly began after one that came later in their group. */
const overtaken = (): string[] =>
  series
    .flatMap((own) => [...own.values()])
    .flatMap((ids) =>
      ids.filter((id, i) => {
        const one = begun.get(id);
        return one && ids.slice(i + 1).some((later) => (begun.get(later)?.answered ?? Infinity) < one.sent);
      }),
    );

test('a group never has more jobs at once than it may, and loses none, while that changes and a replica dies', async () => {
  await allow(2);
  const everybody = Promise.all([produce(), produce(), ...Array.from({ length: WORKERS }, worker), change()]);
  await Promise.race([sleep(KILL_MS), everybody]);
  killed = replicas[0];
  await killed?.end('SIGKILL');
  await Promise.race([sleep(CHAOS_MS - KILL_MS), everybody]);
  stopping = true;
  await everybody;
  expect(await drain()).toEqual([]);
  expect(tooMany()).toEqual([]);
  expect(overtaken()).toEqual([]);
  expect(history.violations(new Set())).toEqual([]);
  // Groups did have several jobs at once.
  const together = [...leasesOf.values()].flatMap((leases) =>
    leases.filter(({ lease, answered }) =>
      leases.some((other) => other.lease !== lease && other.answered < lease.start && other.over > answered),
    ),
  );
  expect(together.length).toBeGreaterThan(20);
});
