import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exportTo } from '../../src/transfer/exportTo.ts';
import { importFrom } from '../../src/transfer/importFrom.ts';
import { createDatabase, onServer, openClient } from '../support/database.ts';
import { sealed } from '../support/exportFile.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/*
 * The groups of a queue while it is imported, beside a service that runs. The lines of an export are not sorted: here, those of one
 * job of each group come last, after a transaction with the others. Most of the time the tests wait: they run side by side.
 */

/** More than a transaction has. */
const OTHERS = 600;
const DEFAULTS = { newIds: false, progress: () => undefined };

interface Leased {
  id: string;
  lease_token: string;
}

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let lines: string[];
/** The heads of the groups `a` and `b`, whose leases run. */
let heads: Map<string, Leased>;
/** One for each test. They start before, one after the other: a start keeps the machine busy. */
const spare: Service[] = [];
const TESTS = 6;
/** Each look of these polls has a connection of its own. */
const SELDOM = { everyMs: 100 };
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  directory = await temporaryDirectory();
  const source = await startService();
  const { call } = source;
  await call('POST', '/jobs/batch', {
    jobs: [1, 2, 3, 4].flatMap((nr) => ['a', 'b'].map((group) => ({ queue: 'grouped', group, payload: nr }))),
  });
  await call('POST', '/jobs/batch', {
    jobs: Array.from({ length: OTHERS }, () => ({ queue: 'others', payload: 'other' })),
  });
  const { body } = await call('POST', '/jobs/claim', { queues: ['grouped'], limit: 9, lease_seconds: 3600 });
  for (const group of ['ready', 'paused'])
    await call('POST', '/jobs/batch', {
      jobs: [1, 2].map((nr) => ({ queue: 'grouped', group, payload: nr })),
    });
  await call('POST', '/queues/grouped/groups/paused/pause');
  heads = new Map(body.jobs.map((job: Leased & { group: string }) => [job.group, job]));
  const path = join(directory.path, 'export');
  const out = createWriteStream(path);
  await exportTo(out, { url: source.databaseUrl, withKeys: false, progress: () => undefined });
  out.end();
  await finished(out);
  lines = readFileSync(path, 'utf8').split('\n').slice(0, -2);
  await source.stop();
  for (let i = 0; i < TESTS; i++) spare.push(await target());
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
  await directory.remove();
});

async function target(): Promise<Service> {
  const { url, drop } = await createDatabase();
  undo.push(drop);
  // Only while it is awake, it repairs groups that SQL has left without a head.
  const service = await startService({ databaseUrl: url, restTimes: { awakeMs: 1e9 } });
  undo.push(service.stop);
  return service;
}

const isJob = (line: string, nr: number) => {
  const { kind, payload } = JSON.parse(line);
  return kind === 'job' && payload === String(nr);
};

/** The export with these jobs of each group behind all others. */
function withLast(...numbers: number[]): { early: string; late: string } {
  const isLate = (line: string) => numbers.some((nr) => isJob(line, nr));
  const isOther = (line: string) => JSON.parse(line).queue_id === JSON.parse(lines[2] as string).id;
  const early = lines
    .filter((line) => !isLate(line))
    .toSorted((a, b) => Number(isOther(a)) - Number(isOther(b)));
  const whole = sealed([...early, ...lines.filter(isLate)]);
  const at = early.reduce((bytes, line) => bytes + Buffer.byteLength(line) + 1, 0);
  return { early: whole.slice(0, at), late: whole.slice(at) };
}

/** Imports a file. `meanwhile` runs when the first transaction is in, and the late lines are not. */
async function imported(
  { databaseUrl: url }: Service,
  { early, late }: { early: string; late: string },
  meanwhile: () => Promise<unknown>,
) {
  async function* stream() {
    yield Buffer.from(early);
    await until(async () => {
      const [{ n } = { n: 0 }] = await onServer<{ n: number }>(
        url,
        'select count(*)::integer as n from dibs.jobs',
      );
      return n >= 6;
    }, SELDOM);
    await meanwhile();
    yield Buffer.from(late);
  }
  return importFrom(stream(), { url, ...DEFAULTS });
}

/** Returns when a look of the repair has seen all groups: it gives a head to one that SQL has left without. */
async function repaired({ databaseUrl: url }: Service): Promise<void> {
  for (const name of ['looked', 'again']) {
    await onServer(url, `insert into dibs.queues (id, name) values (dibs.next_queue_id() + 1000, '${name}')`);
    await onServer(
      url,
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload, group_key)
       select id, dibs.new_id(id), 'blocked', now(), 5, 1, 0, '{}', '1', 'lost' from dibs.queues where name = '${name}'`,
    );
    await until(async () => {
      const [lost] = await onServer(
        url,
        `select from dibs.jobs where is_head and queue_id = (select id from dibs.queues where name = '${name}')`,
      );
      return lost !== undefined;
    }, SELDOM);
  }
}

const ack = ({ call }: Service, { id, lease_token }: Leased) =>
  call('POST', `/jobs/${id}/ack`, { lease_token });

/** The payloads of the groups, in the order in which they are claimed. The heads that are leased are acked first. */
async function orderIn(service: Service, acked: string[] = []): Promise<Record<string, unknown[]>> {
  const { call } = service;
  for (const [group, head] of heads)
    if (!acked.includes(group)) expect(await ack(service, head)).toMatchObject({ status: 200 });
  const order: Record<string, unknown[]> = {};
  for (;;) {
    const asked = { queues: ['grouped'], limit: 9, wait_seconds: 2 };
    const { jobs } = (await call('POST', '/jobs/claim', asked)).body;
    if (jobs.length === 0) return order;
    for (const job of jobs) {
      order[job.group] = [...(order[job.group] ?? []), job.payload];
      expect(await ack(service, job)).toMatchObject({ status: 200 });
    }
  }
}

test.concurrent('leased heads that come late find their places free, beside a replica that repairs groups', async () => {
  const service = spare.pop() as Service;
  await imported(service, withLast(1), () => repaired(service));
  expect(await orderIn(service)).toMatchObject({ a: [2, 3, 4], b: [2, 3, 4] });
  expect(service.errors).toEqual([]);
});

test.concurrent('no job of a group is overtaken when its head is acked, or dies, during an import', async () => {
  const service = spare.pop() as Service;
  await imported(service, withLast(2), async () => {
    expect(await ack(service, heads.get('a') as Leased)).toMatchObject({ status: 200 });
    await onServer(
      service.databaseUrl,
      `update dibs.jobs set lease_expires_at = now() - interval '1 minute', max_attempts = attempt
       where id = '${heads.get('b')?.id}'`,
    );
    await until(async () => (await service.call('GET', `/jobs/${heads.get('b')?.id}`)).body.state === 'dead');
    await repaired(service);
  });
  expect(await orderIn(service, ['a', 'b'])).toMatchObject({ a: [2, 3, 4], b: [2, 3, 4] });
});

test.concurrent('jobs that are enqueued during an import come behind those of the file, and wait for its end', async () => {
  const service = spare.pop() as Service;
  const { call } = service;
  await imported(service, withLast(1, 2, 3, 4), async () => {
    for (const group of ['a', 'new'])
      expect((await call('POST', '/jobs', { queue: 'grouped', group, payload: 'new' })).body.state).toBe(
        'blocked',
      );
    await call('PUT', '/queues/grouped', { group_concurrency: 2 });
    await repaired(service);
  });
  await call('PUT', '/queues/grouped', { group_concurrency: 1 });
  expect(await orderIn(service)).toMatchObject({ a: [2, 3, 4, 'new'], b: [2, 3, 4], new: ['new'] });
});

test.concurrent('a group that is paused during an import stays paused, one that is resumed goes on', async () => {
  const service = spare.pop() as Service;
  const { call } = service;
  const group = (name: string, verb: string) => call('POST', `/queues/grouped/groups/${name}/${verb}`);
  await imported(service, withLast(1), async () => {
    await group('a', 'pause');
    await group('ready', 'pause');
    await group('paused', 'resume');
  });
  expect((await call('GET', '/queues/grouped')).body.paused_groups).toEqual(['a', 'ready']);
  expect(await orderIn(service)).toEqual({ b: [2, 3, 4], paused: [1, 2] });
  for (const name of ['a', 'ready']) await group(name, 'resume');
  expect(await orderIn(service, ['a', 'b'])).toEqual({ a: [2, 3, 4], ready: [1, 2] });
});

test.concurrent('an import that is abandoned says so, and a resume lets its groups go on. Then it cannot', async () => {
  const service = spare.pop() as Service;
  const { call } = service;
  const file = withLast(4);
  const explained = async () => (await call('GET', '/queues/grouped/explain')).body.detail;
  const broken = imported(service, file, async () => {
    expect(await explained()).toContain('An import of the queue has not ended.');
    const { body } = await call('GET', '/jobs?queue=grouped&state=blocked');
    const job = (await call('GET', `/jobs/${body.jobs[0].id}/explain`)).body;
    expect(job).toMatchObject({ code: 'queue_paused' });
    expect(job.detail).toContain('An import of the queue has not ended.');
    throw new Error('broke off');
  });
  await expect(broken).rejects.toThrow('broke off');
  await call('POST', '/queues/grouped/resume');
  expect(await orderIn(service)).toMatchObject({ a: [2, 3], b: [2, 3] });
  const goOn = () => imported(service, file, async () => undefined);
  await expect(goOn()).rejects.toThrow(/The queue grouped was resumed after this import had begun/);
  // As it says, it begins anew when its queues are deleted.
  for (const queue of ['grouped', 'others'])
    expect(await call('DELETE', `/queues/${queue}?force=true`)).toMatchObject({ status: 204 });
  await until(async () => (await onServer(service.databaseUrl, 'select from dibs.jobs')).length === 0);
  expect(await goOn()).toMatchObject({ jobs: OTHERS + 12, before: 0 });
  expect(await orderIn(service)).toMatchObject({ a: [2, 3, 4], b: [2, 3, 4] });
});

test.concurrent('a job that comes into a queue as its import begins is in the way', async () => {
  const { databaseUrl: url, call } = spare.pop() as Service;
  const { id } = JSON.parse(lines[1] as string);
  await onServer(url, `insert into dibs.queues (id, name) values (${id}, 'grouped')`);
  const producer = await openClient(url);
  await producer.query('begin');
  await producer.query(`select dibs.enqueue('grouped', '1'::json)`);
  const whole = Buffer.from(sealed(lines));
  const importing = importFrom(
    (async function* () {
      yield whole;
    })(),
    { url, ...DEFAULTS },
  );
  const refused = expect(importing).rejects.toThrow(/^A job came into the queue grouped just now\./);
  await until(async () => {
    const [waits] = await onServer(
      url,
      `select from pg_stat_activity
       where application_name = 'dibs import' and wait_event_type = 'Lock' and datname = current_database()`,
    );
    return waits !== undefined;
  }, SELDOM);
  await producer.query('commit');
  await producer.end();
  await refused;
  expect((await call('GET', '/queues/grouped')).body).toMatchObject({ paused: false, counts: { ready: 1 } });
});
