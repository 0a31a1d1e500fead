import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordHistory } from '../support/history.ts';
import { served } from '../support/served.ts';
import { type Answer, type Service, startService } from '../support/service.ts';

const LEASE_SECONDS = 0.4;
const FIRST_JOBS = 40;
const DEPTH = 3;

let replicas: Service[];
beforeAll(async () => {
  const first = await startService();
  const others = [0, 1].map(() => startService({ databaseUrl: first.databaseUrl }));
  replicas = [first, ...(await Promise.all(others))];
});
afterAll(async () => {
  for (const replica of replicas.toReversed()) await replica.stop();
});

interface Payload {
  /** The job whose settlement enqueued it. */
  of: string;
  by: 'ack' | 'nack';
  depth: number;
}

interface Leased {
  id: string;
  lease_token: string;
  deliveries: number;
  lease_expires_at: string;
  payload: Payload;
}

const one = <T>(of: readonly T[]): T => of[Math.floor(Math.random() * of.length)] as T;

/** Records which follow-ups the settlements were answered, and which ones workers got. */
function recordFollowUps() {
  const history = recordHistory();
  /** By verb and job that enqueued them: the ids of the follow-ups that were answered, and of those that were claimed. */
  const answered = new Map<string, string[]>();
  const delivered = new Map<string, Set<string>>();
  const unknown = new Set<string>();
  return {
    history,
    unknown: (of: string, by: 'ack' | 'nack') => unknown.add(`${by} ${of}`),
    answered(of: string, by: 'ack' | 'nack', ids: string[]): void {
      answered.set(`${by} ${of}`, [...(answered.get(`${by} ${of}`) ?? []), ...ids]);
      for (const id of ids) history.enqueued(id);
    },
    delivered({ id, payload: { of, by } }: Leased): void {
      if (of === '') return;
      const key = `${by} ${of}`;
      delivered.set(key, (delivered.get(key) ?? new Set()).add(id));
    },
    /** Settlements whose answered follow-ups are not those that were claimed. */
    differences: () => {
      const keys = new Set([...answered.keys(), ...delivered.keys()]);
      return [...keys]
        .filter((key) => !unknown.has(key) || answered.has(key))
        .map(
          (key) =>
            [key, (answered.get(key) ?? []).toSorted(), [...(delivered.get(key) ?? [])].sort()] as const,
        )
        .filter(([, asked, came]) => asked.join() !== came.join());
    },
    count: () => answered.size,
  };
}

test('each follow-up comes from one settlement that counted, while workers on three replicas die, are late or repeat their calls', {
  timeout: 600_000,
}, async () => {
  const queue = 'steps';
  const followUps = recordFollowUps();
  const { history } = followUps;
  const enqueued = await (replicas[0] as Service).call('POST', '/jobs/batch', {
    jobs: Array.from({ length: FIRST_JOBS }, () => ({
      queue,
      max_attempts: 4,
      backoff: { kind: 'constant', base_seconds: 0.05 },
      payload: { of: '', by: 'ack', depth: 0 },
    })),
  });
  for (const { id } of enqueued.body.jobs) history.enqueued(id);
  let calm = false;

  async function settle(job: Leased, lease: ReturnType<typeof history.leased>): Promise<void> {
    const verb = calm || Math.random() < 0.6 ? 'ack' : 'nack';
    const { id, lease_token, payload } = job;
    const next = { queue, max_attempts: 4, backoff: { kind: 'constant', base_seconds: 0.05 } };
    const enqueue =
      payload.depth === DEPTH
        ? undefined
        : [1, 2].map(() => ({ ...next, payload: { of: id, by: verb, depth: payload.depth + 1 } }));
    const retry = Math.random() < 0.5;
    const body = { lease_token, enqueue, ...(verb === 'nack' ? { retry } : {}) };
    // Some workers send the same call twice at once, to any two replicas.
    const times = !calm && Math.random() < 0.2 ? 2 : 1;
    const sent = Date.now();
    const answers = await Promise.all(
      Array.from({ length: times }, () => one(replicas).call('POST', `/jobs/${id}/${verb}`, body)),
    );
    const done = answers.filter(({ status }) => status === 200);
    for (const { status } of answers) expect([200, 404, 409, 503]).toContain(status);
    // On a slow machine, a call may be 503. Then nobody knows what became of it.
    const isUnknown = done.length === 0 && answers.some(({ status }) => status === 503);
    if (isUnknown) followUps.unknown(id, verb);
    expect(done.length).toBeLessThanOrEqual(1);
    history.settled(lease, verb, sent, done.length > 0 ? 'done' : isUnknown ? 'unknown' : 'refused');
    const follow = done.flatMap(({ body }) => body.enqueued ?? []).map((job: { id: string }) => job.id);
    if (follow.length > 0) followUps.answered(id, verb, follow);
    if (verb === 'nack' && done[0]?.body.state !== 'dead') expect(follow).toEqual([]);
  }

  async function work(until: () => boolean): Promise<void> {
    while (!until()) {
      // In the end, a slow machine must not lose its leases again and again.
      const lease_seconds = calm ? 60 : LEASE_SECONDS;
      const claim = { queues: [queue], limit: 4, lease_seconds, wait_seconds: 0.1 };
      const { body } = await one(replicas).call('POST', '/jobs/claim', claim);
      for (const job of (body.jobs ?? []) as Leased[]) {
        followUps.delivered(job);
        const lease = history.leased(job, lease_seconds);
        // Some workers die, some come too late.
        if (!calm && Math.random() < 0.1) continue;
        if (!calm && Math.random() < 0.1) await new Promise((resolve) => setTimeout(resolve, 500));
        await settle(job, lease);
      }
    }
  }

  const calmFrom = performance.now() + 5000;
  await Promise.all(Array.from({ length: 9 }, () => work(() => performance.now() > calmFrom)));
  calm = true;
  let empty = 0;
  const left = async () => {
    const { body } = await served(() => (replicas[0] as Service).call('GET', `/queues/${queue}`));
    return body.counts.ready + body.counts.scheduled + body.counts.leased;
  };
  const watching = setInterval(async () => {
    empty = (await left()) === 0 ? empty + 1 : 0;
  }, 100);
  await Promise.all(Array.from({ length: 9 }, () => work(() => empty > 2)));
  clearInterval(watching);

  const remaining = new Set<string>();
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path = `/jobs?queue=${queue}&limit=1000${cursor && `&cursor=${cursor}`}`;
    const page: Answer = await served(() => (replicas[0] as Service).call('GET', path));
    for (const { id } of page.body.jobs) remaining.add(id);
    cursor = page.body.next_cursor;
  }
  expect(history.violations(remaining)).toEqual([]);
  expect(followUps.differences()).toEqual([]);
  expect(followUps.count()).toBeGreaterThan(FIRST_JOBS);
});
