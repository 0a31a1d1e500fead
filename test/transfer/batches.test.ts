import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { exportTo } from '../../src/transfer/exportTo.ts';
import { importFrom } from '../../src/transfer/importFrom.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { eventually, moves } from '../support/moves.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { type Service, startService } from '../support/service.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;
type Moves = ReturnType<typeof moves>;

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let source: Service;
let file: string;
/** The batches of the source, and what it told of each when it was exported. */
let ids: Record<string, string>;
let told: Record<string, Json>;
/** A leased job of the batches `running` and `cancelled`: each is the last one that its batch waits for, but for one in `running`. */
let leased: Record<string, Json>;
const undo: (() => Promise<unknown>)[] = [];

const followers = (queue: string) => ({
  on_success: { queue, payload: 'success', headers: { a: 'b' } },
  on_end: { queue, payload: 'end' },
});
const look = (at: Moves, id: string | undefined): Promise<Json> => at.ok('GET', `/batches/${id}`);
const finish = async (at: Moves, queue: string) => {
  for (const job of await at.claim(queue, { limit: 100 }))
    expect((await at.settle('ack', job)).status).toBe(200);
};
const followed = async (at: Moves, queue: string): Promise<string[]> =>
  (await at.ok('GET', `/jobs?queue=${queue}&include=payload&order=oldest`)).jobs.map(
    ({ payload }: Json) => payload,
  );

/** Batches in every state, each with queues of its own: `open`, `open.after`, and so on. */
async function fill(at: Moves): Promise<void> {
  const create = async (queue: string, body: object): Promise<string> =>
    (await at.ok('POST', '/batches', { queue, name: `the ${queue}`, ...body })).id;
  const many = (queue: string, count: number) => Array.from({ length: count }, () => ({ queue }));

  const open = await create('open', { jobs: many('open', 2), ...followers('open.after') });
  await at.settle('ack', await at.claimOne('open'));
  const running = await create('running', {
    jobs: [...many('running', 2), { queue: 'running', payload: 'later', delay_seconds: 3600 }],
    closed: true,
    ...followers('running.after'),
  });
  const [first, second] = await at.claim('running', { limit: 2, lease_seconds: 3600 });
  await at.settle('ack', first);
  const ended = await create('ended', {
    jobs: many('ended', 2),
    closed: true,
    ...followers('ended.after'),
  });
  await at.settle('nack', await at.claimOne('ended'), { retry: false });
  await finish(at, 'ended');
  const succeeded = await create('done', { jobs: many('done', 1), closed: true });
  await finish(at, 'done');
  const cancelled = await create('cancelled', { jobs: many('cancelled', 3), ...followers('none') });
  const held = await at.claimOne('cancelled', { lease_seconds: 3600 });
  await at.ok('DELETE', `/batches/${cancelled}`);
  const outer = await create('outer', followers('outer.after'));
  const inner = await create('inner', {
    jobs: many('inner', 1),
    closed: true,
    on_success: { queue: 'outer', batch: outer },
  });
  await at.ok('POST', `/batches/${outer}/close`);
  ids = { open, running, ended, succeeded, cancelled, outer, inner };
  leased = { running: second, cancelled: held };
}

async function exported(to: string): Promise<string> {
  const path = join(directory.path, to);
  const out = createWriteStream(path);
  await exportTo(out, { url: source.databaseUrl, withKeys: false, progress: () => undefined });
  out.end();
  await finished(out);
  return path;
}
const imported = (url: string, path = file, newIds = false) =>
  importFrom(createReadStream(path), { url, newIds, progress: () => undefined });

async function target(): Promise<string> {
  const { url, drop } = await createDatabase();
  undo.push(drop);
  return url;
}

async function served(databaseUrl: string): Promise<Moves> {
  const started = await startService({ databaseUrl });
  undo.push(started.stop);
  return moves(started);
}

/** Finishes what is unfinished in all batches of the export, but for the leased jobs. */
async function finishAll(at: Moves, idOf = (name: string) => ids[name] as string): Promise<void> {
  await finish(at, 'open');
  await at.ok('POST', `/batches/${idOf('open')}/close`);
  const { jobs } = await at.ok('GET', `/jobs?batch=${idOf('running')}&state=scheduled`);
  for (const { id } of jobs) await at.ok('POST', `/jobs/${id}/retry`);
  await finish(at, 'running');
  await at.ok('POST', '/queues/ended/redrive', {});
  await finish(at, 'ended');
  await finish(at, 'inner');
  await finish(at, 'outer');
}

/** Whether each follower has come once, and no other. */
async function expectFollowers(at: Moves, idOf = (name: string) => ids[name] as string): Promise<void> {
  expect(await followed(at, 'ended.after')).toEqual(['end', 'success']);
  for (const name of ['open', 'running', 'outer'])
    expect(await followed(at, `${name}.after`), name).toEqual(['end', 'success']);
  expect(await followed(at, 'none')).toEqual([]);
  for (const name of Object.keys(ids))
    expect(await look(at, idOf(name)), name).toMatchObject({
      state: name === 'cancelled' ? 'ended' : 'succeeded',
      followers: [],
    });
}

beforeAll(async () => {
  directory = await temporaryDirectory();
  source = await startService();
  const at = moves(source);
  await fill(at);
  // The numbers are the same before and after the duty has added them up.
  told = Object.fromEntries(
    await Promise.all(Object.entries(ids).map(async ([k, id]) => [k, await look(at, id)])),
  );
  file = await exported('batches.ndjson');
});
afterAll(async () => {
  await source.stop();
  await directory.remove();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

describe('batches come through an export and an import', () => {
  test('as they were: state, name, times, followers and numbers', async () => {
    expect(Object.values(told).map(({ state }) => state)).toEqual([
      ...['open', 'running', 'ended', 'succeeded', 'running', 'running', 'running'],
    ]);
    const url = await target();
    await imported(url);
    const at = await served(url);
    for (const [name, id] of Object.entries(ids)) expect(await look(at, id), name).toEqual(told[name]);
    const inBatches = (of: string) =>
      onServer(of, 'select id, batch_id from dibs.jobs where batch_id is not null order by id');
    expect(await inBatches(url)).toEqual(await inBatches(source.databaseUrl));
  });

  test('and go on: each follower comes exactly once, also after a second import of the file', async () => {
    const url = await target();
    await imported(url);
    const at = await served(url);
    await finishAll(at);
    expect(await look(at, ids.running)).toMatchObject({
      state: 'running',
      counts: { leased: 1, completed: 2 },
    });
    for (const job of Object.values(leased)) expect((await at.settle('ack', job)).status).toBe(200);
    await expectFollowers(at);
    expect(await imported(url)).toMatchObject({ before: expect.any(Number) });
    await expectFollowers(at);
    const [success] = (await at.ok('GET', '/jobs?queue=open.after&include=payload')).jobs;
    expect(success).toMatchObject({ payload: 'success', headers: { a: 'b', 'dibs-batch': ids.open } });
  });

  test('with --new-ids, under ids of their own', async () => {
    const url = await target();
    const at = await served(url);
    for (let i = 0; i < 30; i++) await at.configure(`before${i}`, {});
    await imported(url, file, true);
    const { batches } = await at.ok('GET', '/batches?limit=100');
    const found = new Map(batches.map(({ name, id }: Json) => [name, id]));
    const nameOf: Record<string, string> = { succeeded: 'done' };
    const idOf = (name: string) => found.get(`the ${nameOf[name] ?? name}`) as string;
    for (const name of Object.keys(ids))
      expect({ ...(await look(at, idOf(name))), id: '' }, name).toEqual({ ...told[name], id: '' });
    expect(idOf('open')).not.toBe(ids.open);
    await finishAll(at, idOf);
    for (const name of ['running', 'cancelled']) {
      const [job] = (await at.ok('GET', `/jobs?batch=${idOf(name)}&state=leased`)).jobs;
      expect((await at.settle('ack', { ...leased[name], id: job.id })).status).toBe(200);
    }
    await expectFollowers(at, idOf);
  });
});

test('a job that ends while an import is under way ends no batch before all is in', async () => {
  const url = await target();
  await onServer(
    url,
    "alter table dibs.batch_followers add constraint refused check (queue <> 'running.after')",
  );
  await expect(imported(url)).rejects.toThrow(/^Line \d+ cannot be put in: .*refused/);
  const at = await served(url);
  const [scheduled] = (await at.ok('GET', `/jobs?batch=${ids.running}&state=scheduled`)).jobs;
  await at.ok('DELETE', `/jobs/${scheduled.id}`);
  expect((await at.settle('ack', leased.running)).status).toBe(200);
  expect(await look(at, ids.running)).toMatchObject({
    state: 'open',
    counts: { completed: 2, cancelled: 1, leased: 0 },
  });
  await onServer(url, 'alter table dibs.batch_followers drop constraint refused');
  await imported(url);
  expect(await look(at, ids.running)).toMatchObject({ state: 'ended', followers: [] });
  await eventually(async () => expect(await followed(at, 'running.after')).toEqual(['end']));
});

test('a batch that is cancelled while an import is under way stays so, and nothing follows it', async () => {
  const url = await target();
  await onServer(
    url,
    "alter table dibs.batch_followers add constraint refused check (queue <> 'open.after')",
  );
  await expect(imported(url)).rejects.toThrow(/refused/);
  const at = await served(url);
  await at.ok('DELETE', `/batches/${ids.open}`);
  await onServer(url, 'alter table dibs.batch_followers drop constraint refused');
  await imported(url);
  expect(await look(at, ids.open)).toMatchObject({ state: 'ended', followers: [] });
  expect(await followed(at, 'open.after')).toEqual([]);
});

test('jobs whose batch is not in the file come without one, as those of an older Dibs do', async () => {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n').slice(0, -1);
  const jobsOnly = lines
    .filter((line) => !/^\{"kind":"(batch|follower|batch_state)"/.test(line))
    .map((line) => line.replace('"dibs_export":2', '"dibs_export":1'));
  expect(jobsOnly.length).toBeLessThan(lines.length);
  const text = jobsOnly.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(text).digest('hex');
  const path = join(directory.path, 'older.ndjson');
  writeFileSync(path, `${text}${JSON.stringify({ kind: 'end', lines: jobsOnly.length, sha256 })}\n`);
  const url = await target();
  const { jobs } = await imported(url, path);
  expect(
    await onServer(url, 'select count(*)::integer, count(batch_id)::integer as of_batches from dibs.jobs'),
  ).toEqual([{ count: jobs, of_batches: 0 }]);
  expect(await onServer(url, 'select from dibs.batches')).toEqual([]);
});
