import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unreliablePostgres } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** From what is prepared until it is due. The outage begins meanwhile. */
const DUE_SECONDS = 20;
const MORE_MS = 3000;

/** Two replicas at a PostgreSQL of their own. */
async function fleet() {
  const postgres = await unreliablePostgres();
  const start = () => Promise.all([1, 2].map(() => startReplica({ DATABASE_URL: postgres.url })));
  let replicas: Replica[] = await start();
  const call = (method: string, path: string, body?: unknown) =>
    http(replicas[0]?.url as string, method, path, body);
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  return {
    postgres,
    call,
    ok,
    enqueue: async (queue: string, more: object): Promise<string> =>
      (await ok('POST', '/jobs', { queue, ...more })).id,
    claimed: async (queue: string, wait_seconds: number): Promise<{ id: string; lease_token: string }[]> =>
      (await ok('POST', '/jobs/claim', { queues: [queue], limit: 10, wait_seconds })).jobs,
    killAll: () => Promise.all(replicas.map((replica) => replica.end('SIGKILL'))),
    async startAll() {
      replicas = await start();
    },
    async end() {
      await this.killAll();
      await postgres.remove();
    },
  };
}
type Fleet = Awaited<ReturnType<typeof fleet>>;

/** A cron with seconds that ticks at these moments of today, and then not for a year. They are within a minute. */
function cronOf(at: Date[]): string {
  const [first = new Date()] = at;
  const seconds = at.map((one) => one.getUTCSeconds()).join(',');
  return `${seconds} ${first.getUTCMinutes()} ${first.getUTCHours()} ${first.getUTCDate()} ${first.getUTCMonth() + 1} *`;
}

/** Two seconds of the same minute, from `ms` after now on. */
function twoMoments(ms: number): [Date, Date] {
  const first = new Date(Date.now() + ms);
  first.setUTCMilliseconds(0);
  if (first.getUTCSeconds() > 57) first.setTime(first.getTime() + 3000);
  return [first, new Date(first.getTime() + 2000)];
}

async function prepared({ ok, enqueue, claimed, call }: Fleet) {
  const in_ = { delay_seconds: DUE_SECONDS };
  for (const queue of ['kept', 'gives-up']) {
    const times = { retention_seconds: DUE_SECONDS, dead_retention_seconds: DUE_SECONDS };
    await ok('PUT', `/queues/${queue}`, times);
  }
  const ids = {
    expires: await enqueue('expires', { expires_in_seconds: DUE_SECONDS }),
    delayedAndExpires: await enqueue('expires', {
      delay_seconds: DUE_SECONDS - 1,
      expires_in_seconds: DUE_SECONDS,
    }),
    later: await enqueue('delayed', { delay_seconds: DUE_SECONDS + 1 }),
    sooner: await enqueue('delayed', in_),
    laterOfGroup: await enqueue('grouped', { group: 'g', delay_seconds: DUE_SECONDS + 1 }),
    soonerOfGroup: await enqueue('grouped', { group: 'g', ...in_ }),
    retried: await enqueue('retried', {}),
    kept: await enqueue('kept', {}),
    dead: await enqueue('gives-up', {}),
    unique: await enqueue('unique', { unique_key: 'k', unique_for_seconds: DUE_SECONDS }),
  };
  const ended = async (queue: string, verb: string, more: object) => {
    const [job] = await claimed(queue, 20);
    await ok('POST', `/jobs/${job?.id}/${verb}`, { lease_token: job?.lease_token, ...more });
  };
  await ended('retried', 'nack', in_);
  await ended('kept', 'ack', {});
  await ended('gives-up', 'nack', { retry: false });
  await ended('unique', 'ack', {});
  const again = { queue: 'unique', unique_key: 'k' };
  expect((await call('POST', '/jobs', again)).body.deduplicated).toBe(true);
  const ticks = twoMoments(DUE_SECONDS * 1000);
  await ok('PUT', '/schedules/ticks', { cron: cronOf(ticks), job: { queue: 'ticks' } });
  return { ids, ticks, dueAt: Date.now() + (DUE_SECONDS + 1) * 1000 };
}

const OUTAGES: [
  name: string,
  gone: (fleet: Fleet) => Promise<unknown>,
  back: (fleet: Fleet) => Promise<unknown>,
][] = [
  ['the database', ({ postgres }) => postgres.stop(), ({ postgres }) => postgres.start()],
  ['all replicas', (own) => own.killAll(), (own) => own.startAll()],
];

describe.each(OUTAGES)('after an outage of %s in which they fell due', (_, gone, back) => {
  let own: Fleet;
  let ids: Awaited<ReturnType<typeof prepared>>['ids'];
  let ticks: Date[];
  let beganAt: number;
  beforeAll(async () => {
    own = await fleet();
    const before = await prepared(own);
    ({ ids, ticks } = before);
    beganAt = Date.now();
    await gone(own);
    const dueAt = Math.max(before.dueAt, ...ticks.map((tick) => tick.getTime()));
    await sleep(Math.max(0, dueAt - Date.now()) + MORE_MS);
    await back(own);
    await until(async () => (await own.call('GET', '/readyz')).status === 200, { what: 'service' });
  }, 200_000);
  afterAll(() => own?.end());

  test('jobs that expired are never handed out, and are dead', async () => {
    const jobs = await own.claimed('expires', 3);
    expect(jobs).toEqual([]);
    for (const id of [ids.expires, ids.delayedAndExpires]) {
      await until(async () => (await own.call('GET', `/jobs/${id}`)).body.state === 'dead');
      const job = (await own.call('GET', `/jobs/${id}`)).body;
      expect(job).toMatchObject({ last_error: 'expired', attempt: 0, deliveries: 0 });
    }
  });

  const idsOf = (jobs: { id: string }[]) => jobs.map(({ id }) => id);
  const isGone = (id: string) =>
    until(async () => (await own.call('GET', `/jobs/${id}`)).status === 404, { what: `the end of ${id}` });

  test('delayed jobs are handed out, in the order in which their delays were over', async () => {
    const jobs = await until(async () => {
      const { ready } = (await own.ok('GET', '/queues/delayed')).counts;
      return ready === 2 && own.claimed('delayed', 0);
    });
    expect(idsOf(jobs)).toEqual([ids.sooner, ids.later]);
  });

  test('a claim that waits is woken for a job whose backoff was over', async () => {
    expect(idsOf(await own.claimed('retried', 60))).toEqual([ids.retried]);
  });

  test('delayed jobs of a group follow each other in the order in which their delays were over', async () => {
    const [first] = await own.claimed('grouped', 60);
    expect(first?.id).toBe(ids.soonerOfGroup);
    await own.ok('POST', `/jobs/${first?.id}/ack`, { lease_token: first?.lease_token });
    expect(idsOf(await own.claimed('grouped', 60))).toEqual([ids.laterOfGroup]);
  });

  test('jobs whose retention was over are gone', async () => {
    await isGone(ids.kept);
    await isGone(ids.dead);
  });

  test('a unique window that was over takes no key', async () => {
    const { status, body } = await own.call('POST', '/jobs', { queue: 'unique', unique_key: 'k' });
    expect({ status, deduplicated: body.deduplicated }).toEqual({ status: 201, deduplicated: undefined });
    expect(body.id).not.toBe(ids.unique);
  });

  test('one job makes up for the ticks of a schedule, and it ticks on', async () => {
    const made = async () => (await own.ok('GET', '/jobs?queue=ticks')).jobs.length;
    const before = ticks.filter((tick) => tick.getTime() < beganAt).length;
    const expected = before + (before < ticks.length ? 1 : 0);
    await until(async () => (await made()) >= expected, { what: 'the job of the schedule' });
    // Each replica looks for due ticks again and again. None makes another job.
    await sleep(MORE_MS);
    expect(await made()).toBe(expected);
    const { last_run_at, next_run_at } = await own.ok('GET', '/schedules/ticks');
    expect(Date.parse(last_run_at)).toBeGreaterThanOrEqual(ticks[0]?.getTime() as number);
    expect(Date.parse(next_run_at)).toBeGreaterThan(Date.now());
    await own.ok('PUT', '/schedules/often', { cron: '* * * * * *', job: { queue: 'often' } });
    await until(async () => (await own.ok('GET', '/jobs?queue=often')).jobs.length > 1);
  });
});
