import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { importJobs } from '../../src/transfer/importJobs.ts';
import { withSource } from '../../src/transfer/readSource.ts';
import type { SourceName } from '../../src/transfer/sources.ts';
import { createDatabase, createEmptyDatabase, onServer } from '../support/database.ts';
import { type Service, startService } from '../support/service.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** `dibs import`, and what it said. */
async function dibsImport(databaseUrl: string, ...args: string[]) {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const env = { ...inherited, DATABASE_URL: databaseUrl };
  const run = promisify(execFile)(process.execPath, ['dist/main.js', 'import', ...args], { env });
  const { stdout, stderr, code } = await run.then(
    (said) => ({ ...said, code: 0 }),
    (error: { stdout: string; stderr: string; code: number }) => error,
  );
  return { out: stdout, err: stderr, status: code };
}

interface Found {
  queue: string;
  state: string;
  payload: string;
  priority: number;
  attempt: number;
  max_attempts: number;
  headers: Record<string, string>;
  last_error: string | null;
  is_later: boolean;
}

const jobsOf = (url: string) =>
  onServer<Found>(
    url,
    `select q.name as queue, j.state, j.payload::text as payload, j.priority, j.attempt, j.max_attempts, j.headers,
       j.last_error, j.run_at > now() + interval '50 minutes' as is_later
     from dibs.jobs j join dibs.queues q on q.id = j.queue_id
     order by q.name, -j.priority, j.position`,
  );

/** Everything in a database that is a row: what an import must leave as it is. */
async function rowsIn(url: string, tables: string[]): Promise<unknown> {
  const all: unknown[] = [];
  for (const table of tables) all.push(await onServer(url, `select * from ${table} as t order by t::text`));
  return all;
}

async function target(): Promise<string> {
  const { url, drop } = await createDatabase();
  undo.push(drop);
  return url;
}

/** What each import must do, whatever it is from. */
function promises(from: SourceName, tables: string[], source: () => string, all: number, lines: RegExp[]) {
  test('a dry run tells the jobs by queue and state, and changes nothing', async () => {
    const url = await target();
    const before = await rowsIn(source(), tables);
    const { out, err, status } = await dibsImport(url, '--from', from, '--url', source(), '--dry-run');
    expect(status).toBe(0);
    for (const line of lines) expect(out).toMatch(line);
    expect(err).toContain(`${all} jobs of `);
    expect(err).toContain('Nothing was changed.');
    expect(await jobsOf(url)).toEqual([]);
    expect(await onServer(url, 'select name from dibs.queues')).toEqual([]);
    expect(await rowsIn(source(), tables)).toEqual(before);
  });

  test('a second import takes nothing twice, also when the jobs of the first are done and gone', async () => {
    const url = await target();
    const before = await rowsIn(source(), tables);
    const first = await dibsImport(url, '--from', from, '--url', source());
    expect(first).toMatchObject({ status: 0 });
    expect(first.err).toContain(`Imported ${all} jobs of `);
    expect(await jobsOf(url)).toHaveLength(all);
    await onServer(url, 'delete from dibs.jobs');
    const second = await dibsImport(url, '--from', from, '--url', source());
    expect(second.err).toContain('Imported 0 jobs of ');
    expect(second.err).toContain(`An earlier import had taken ${all} other jobs.`);
    expect(await jobsOf(url)).toEqual([]);
    expect(await rowsIn(source(), tables)).toEqual(before);
  });

  test('imports that run at once take each job once', async () => {
    const url = await target();
    const one = () =>
      withSource({ from, url: source() }, (reader) =>
        importJobs(reader, { url, queueOf: (queue) => queue, progress: () => undefined }),
      );
    const taken = await Promise.all([one(), one(), one()]);
    expect(taken.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(all);
    expect(await jobsOf(url)).toHaveLength(all);
  });
}

describe('pg-boss', () => {
  let source: Awaited<ReturnType<typeof createEmptyDatabase>>;

  beforeAll(async () => {
    source = await createEmptyDatabase();
    const boss = new PgBoss({ connectionString: source.url, supervise: false, schedule: false });
    boss.on('error', () => undefined);
    await boss.start();
    for (const queue of ['mail', 'shop/orders']) await boss.createQueue(queue);
    await boss.createQueue('failing', { retryLimit: 4, retryDelay: 3600 });
    await boss.send('mail', { to: 'second' }, { priority: 1 });
    await boss.send('mail', { to: 'first' }, { priority: 7, singletonKey: 'one' });
    await boss.send('mail', { to: 'later' }, { startAfter: 3600 });
    await boss.send('mail', null);
    await boss.send('shop/orders', { id: 1 });
    await boss.send('failing', { n: 'again' });
    await boss.send('failing', { n: 'dead' }, { retryLimit: 0 });
    await boss.send('failing', { n: 'done' });
    await boss.send('failing', { n: 'held' });
    for (const n of ['again', 'dead', 'done', 'held']) {
      const [job] = await boss.fetch<{ n: string }>('failing');
      expect(job?.data.n).toBe(n);
      if (n === 'done') await boss.complete('failing', job?.id as string);
      else if (n !== 'held') await boss.fail('failing', job?.id as string, new Error(`no mailbox for ${n}`));
    }
    await boss.stop({ graceful: false });
  });
  afterAll(() => source.drop());

  const lines = [
    /^mail +created +3 +ready +mail$/m,
    /^mail +created +1 +scheduled +mail$/m,
    /^failing +active +1 +stays/m,
    /^failing +completed +1 +stays/m,
    /^failing +failed +1 +dead +failing$/m,
    /^failing +retry +1 +scheduled +failing$/m,
    /^shop\/orders +created +1 +ready +shop\.orders$/m,
  ];
  const renamed = ['--rename', 'shop/orders=shop.orders'];

  test('waiting, delayed, failed and retried jobs come with what they are, and the source stays as it is', async () => {
    const url = await target();
    const before = await rowsIn(source.url, ['pgboss.job', 'pgboss.queue', 'pgboss.version']);
    const dry = await dibsImport(url, '--from', 'pg-boss', '--url', source.url, '--dry-run', ...renamed);
    for (const line of lines) expect(dry.out).toMatch(line);
    const { err, status } = await dibsImport(url, '--from', 'pg-boss', '--url', source.url, ...renamed);
    expect([status, err]).toEqual([0, expect.stringContaining('Imported 7 jobs of pg-boss')]);
    const jobs = await jobsOf(url);
    expect(jobs.map(({ queue, state, payload }) => [queue, state, payload])).toEqual([
      ['failing', 'dead', '{"n": "dead"}'],
      ['failing', 'scheduled', '{"n": "again"}'],
      ['mail', 'ready', '{"to": "first"}'],
      ['mail', 'ready', '{"to": "second"}'],
      ['mail', 'ready', 'null'],
      ['mail', 'scheduled', '{"to": "later"}'],
      ['shop.orders', 'ready', '{"id": 1}'],
    ]);
    expect(jobs[0]).toMatchObject({ attempt: 1, max_attempts: 1, last_error: 'no mailbox for dead' });
    expect(jobs[1]).toMatchObject({
      attempt: 1,
      max_attempts: 5,
      last_error: 'no mailbox for again',
      is_later: true,
    });
    expect(jobs[2]).toMatchObject({ priority: 7, attempt: 0, max_attempts: 3 });
    expect(jobs[2]?.headers).toEqual({
      'dibs-imported-from': 'pg-boss',
      'dibs-imported-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'pg-boss-singleton-key': 'one',
    });
    expect(jobs[5]?.is_later).toBe(true);
    expect(await rowsIn(source.url, ['pgboss.job', 'pgboss.queue', 'pgboss.version'])).toEqual(before);

    const again = await dibsImport(url, '--from', 'pg-boss', '--url', source.url, ...renamed);
    expect(again.err).toContain('Imported 0 jobs of pg-boss');
    expect(await jobsOf(url)).toHaveLength(7);
  });

  test('a queue whose name cannot be one here is refused before anything is written, and the way out is told', async () => {
    const url = await target();
    const { err, status } = await dibsImport(url, '--from', 'pg-boss', '--url', source.url);
    expect(status).toBe(1);
    expect(err).toContain('No queue here can be called "shop/orders"');
    expect(err).toContain('--rename "shop/orders=NAME"');
    expect(await onServer(url, 'select name from dibs.queues')).toEqual([]);
  });

  test('a newer version of its schema is refused, until somebody says that it may be read', async () => {
    const url = await target();
    await onServer(source.url, 'update pgboss.version set version = version + 1000');
    undo.push(() => onServer(source.url, 'update pgboss.version set version = version - 1000'));
    const run = (...more: string[]) =>
      dibsImport(url, '--from', 'pg-boss', '--url', source.url, '--dry-run', ...more);
    const { err, status } = await run();
    const [, version] = /has version (\d+)\. This Dibs knows 24 to 46\./.exec(err) ?? [];
    expect([status, err]).toEqual([1, expect.stringContaining(`add --source-version ${version}`)]);
    expect((await run('--source-version', String(version), ...renamed)).status).toBe(0);
  });

  describe('while Dibs serves', () => {
    let service: Service;
    beforeAll(async () => {
      service = await startService();
    });
    afterAll(() => service.stop());

    test('a claim that waits gets the jobs in their order, and a dead one can be retried', async () => {
      const { call, databaseUrl } = service;
      await call('POST', '/jobs', { queue: 'mail', payload: 'was here' });
      await call('POST', '/jobs/claim', { queues: ['mail'] });
      const waiting = call('POST', '/jobs/claim', { queues: ['shop.orders'], wait_seconds: 30 });
      const { status } = await dibsImport(databaseUrl, '--from', 'pg-boss', '--url', source.url, ...renamed);
      expect(status).toBe(0);
      expect((await waiting).body.jobs.map(({ payload }: { payload: object }) => payload)).toEqual([
        { id: 1 },
      ]);
      // The positions of an import begin far above those before. So one claim may find a part of its jobs only.
      const payloads: unknown[] = [];
      while (payloads.length < 3) {
        const { body } = await call('POST', '/jobs/claim', { queues: ['mail'], limit: 10, wait_seconds: 30 });
        expect(body.jobs).not.toEqual([]);
        payloads.push(...body.jobs.map(({ payload }: { payload: unknown }) => payload));
      }
      expect(payloads).toEqual([{ to: 'first' }, { to: 'second' }, null]);
      const dead = (await call('GET', '/jobs?queue=failing&state=dead')).body.jobs;
      expect(dead).toHaveLength(1);
      expect((await call('POST', `/jobs/${dead[0].id}/retry`)).body.state).toBe('ready');
      const acts: { verb: string; count: number }[] = (await call('GET', '/audit')).body.entries;
      expect(acts.find(({ verb }) => verb === 'importJobs')).toMatchObject({ count: 7 });
    });
  });
});

const hasGo = spawnSync('go', ['version']).status === 0;

describe.skipIf(!hasGo)(`River${hasGo ? '' : ' (skipped: no go on this machine)'}`, () => {
  let source: Awaited<ReturnType<typeof createEmptyDatabase>>;
  const tables = ['river_job', 'river_queue', 'river_migration'];

  beforeAll(async () => {
    source = await createEmptyDatabase();
    await promisify(execFile)('go', ['run', '.', source.url, '8'], { cwd: 'test/transfer/river' });
  }, 300_000);
  afterAll(() => source?.drop());

  promises('river', tables, () => source.url, 5, [
    /^failing +completed +1 +stays/m,
    /^failing +discarded +1 +dead +failing$/m,
    /^failing +retryable +1 +scheduled +failing$/m,
    /^letters +available +2 +ready +letters$/m,
    /^letters +scheduled +1 +scheduled +letters$/m,
  ]);

  test('kind, tags and metadata stand in the headers, and priority 1 comes first', async () => {
    const url = await target();
    expect((await dibsImport(url, '--from', 'river', '--url', source.url)).status).toBe(0);
    const jobs = await jobsOf(url);
    expect(jobs.map(({ queue, state, payload }) => [queue, state, JSON.parse(payload).to])).toEqual([
      ['failing', 'dead', 'dead'],
      ['failing', 'scheduled', 'again'],
      ['letters', 'ready', 'first'],
      ['letters', 'scheduled', 'later'],
      ['letters', 'ready', 'second'],
    ]);
    expect(jobs[0]).toMatchObject({ attempt: 1, max_attempts: 1, last_error: 'no such mailbox: dead' });
    expect(jobs[1]).toMatchObject({ attempt: 1, max_attempts: 9, is_later: true });
    expect(jobs[2]?.headers).toEqual({
      'dibs-imported-from': 'river',
      'dibs-imported-id': '2',
      'river-kind': 'mail',
      'river-tags': 'letter,first-class',
      'river-metadata': expect.stringContaining('"tenant": "acme"'),
    });
  });
});

describe('Oban', () => {
  let source: Awaited<ReturnType<typeof createEmptyDatabase>>;
  const longMeta = JSON.stringify({ note: 'x'.repeat(2000) });

  beforeAll(async () => {
    source = await createEmptyDatabase();
    await onServer(source.url, readFileSync('test/transfer/oban.sql', 'utf8'));
    await onServer(
      source.url,
      `insert into oban_jobs (state, queue, worker, args, attempt, max_attempts, priority, tags, meta, errors, scheduled_at)
       values
         ('available', 'mail', 'Shop.Mailer', '{"to": "second"}', 0, 20, 3, '{}', '{}', '{}', timezone('UTC', now())),
         ('available', 'mail', 'Shop.Mailer', '{"to": "first"}', 0, 20, 0, '{a,b}', '{"tenant": "acme"}', '{}', timezone('UTC', now())),
         ('scheduled', 'mail', 'Shop.Mailer', '{"to": "later"}', 0, 20, 0, '{}', '${longMeta}', '{}', timezone('UTC', now()) + interval '1 hour'),
         ('retryable', 'mail', 'Shop.Mailer', '{"to": "due"}', 2, 20, 0, '{}', '{}',
           array['{"at": "2026-01-01", "attempt": 1, "error": "first"}', '{"attempt": 2, "error": "second"}']::jsonb[], timezone('UTC', now()) - interval '1 minute'),
         ('discarded', 'mail', 'Shop.Mailer', '{"to": "dead"}', 20, 20, 0, '{}', '{}', array['{"attempt": 20, "error": "gone"}']::jsonb[], timezone('UTC', now())),
         ('executing', 'mail', 'Shop.Mailer', '{}', 1, 20, 0, '{}', '{}', '{}', timezone('UTC', now())),
         ('suspended', 'mail', 'Shop.Mailer', '{}', 0, 20, 0, '{}', '{}', '{}', timezone('UTC', now())),
         ('cancelled', 'mail', 'Shop.Mailer', '{}', 0, 20, 0, '{}', '{}', '{}', timezone('UTC', now()))`,
    );
  });
  afterAll(() => source.drop());

  promises('oban', ['oban_jobs'], () => source.url, 5, [
    /^mail +available +2 +ready +mail$/m,
    /^mail +scheduled +1 +scheduled +mail$/m,
    /^mail +retryable +1 +ready +mail$/m,
    /^mail +discarded +1 +dead +mail$/m,
    /^mail +executing +1 +stays/m,
    /^mail +suspended +1 +stays/m,
    /^mail +cancelled +1 +stays/m,
  ]);

  test('worker, tags and meta stand in the headers, priority 0 comes first, and times are in UTC', async () => {
    const url = await target();
    expect((await dibsImport(url, '--from', 'oban', '--url', source.url)).status).toBe(0);
    const jobs = await jobsOf(url);
    const of = (to: string) => jobs.find(({ payload }) => JSON.parse(payload).to === to);
    expect(of('first')?.headers).toEqual({
      'dibs-imported-from': 'oban',
      'dibs-imported-id': '2',
      'oban-worker': 'Shop.Mailer',
      'oban-tags': 'a,b',
      'oban-meta': '{"tenant": "acme"}',
    });
    expect(of('second')).toMatchObject({ state: 'ready', priority: -3 });
    expect(of('later')).toMatchObject({ state: 'scheduled', is_later: true });
    expect(of('later')?.headers).not.toHaveProperty('oban-meta');
    expect(of('due')).toMatchObject({ state: 'ready', attempt: 2, last_error: 'second' });
    expect(of('dead')).toMatchObject({ state: 'dead', attempt: 20, max_attempts: 20, last_error: 'gone' });
  });

  test('an import that was broken off goes on where it was', async () => {
    const url = await target();
    const breaking = withSource({ from: 'oban', url: source.url }, (reader) =>
      importJobs(
        {
          ...reader,
          async *batches() {
            for await (const jobs of reader.batches()) {
              yield jobs.slice(0, 2);
              throw new Error('broken off');
            }
          },
        },
        { url, queueOf: (queue) => queue, progress: () => undefined },
      ),
    );
    await expect(breaking).rejects.toThrow('broken off');
    expect(await jobsOf(url)).toHaveLength(2);
    const { err } = await dibsImport(url, '--from', 'oban', '--url', source.url);
    expect(err).toContain('Imported 3 jobs of Oban');
    expect(err).toContain('An earlier import had taken 2 other jobs.');
    expect(await jobsOf(url)).toHaveLength(5);
  });
});

describe('what is wrong is told in a line', () => {
  const NOWHERE = 'postgres://somebody:secret@127.0.0.1:1/shop';

  test.each([
    [['--from', 'sidekiq', '--url', NOWHERE], 2, '--from takes pg-boss, river, oban, and not "sidekiq".'],
    [['--from', 'river'], 2, '--from river needs --url'],
    [['--from', 'river', '--url', 'redis://host'], 2, '--url takes the URL of a PostgreSQL'],
    [['--from', 'river', '--url', NOWHERE, '--rename', 'a'], 2, '--rename takes OLD=NEW'],
    [
      ['--from', 'river', '--url', NOWHERE, '--source-version', 'x'],
      2,
      '--source-version takes a whole number',
    ],
    [['--from', 'river', '--url', NOWHERE, 'all.ndjson'], 2, 'takes no file'],
    [['all.ndjson', '--dry-run'], 2, '--dry-run goes with --from only'],
    [['--from', 'river', '--url', NOWHERE], 1, 'The database of --url cannot be reached: '],
  ])('%j', async (args, status, text) => {
    const said = await dibsImport('postgres://nobody@127.0.0.1:1/none', ...args);
    expect(said.err).toContain(text);
    expect(said.status).toBe(status);
    expect(said.err).not.toContain('secret');
    expect(said.err).not.toContain('    at ');
  });

  test('a database without these tables, and tables that are others', async () => {
    const { url, drop } = await createEmptyDatabase();
    undo.push(drop);
    const run = (...args: string[]) => dibsImport(url, ...args, '--url', url, '--dry-run');
    const none = await run('--from', 'pg-boss', '--schema', 'Shop "a"');
    expect([none.status, none.err]).toEqual([1, expect.stringContaining('there is no table Shop "a".job')]);
    await onServer(url, 'create table river_job (id bigint, queue text)');
    const other = await run('--from', 'river');
    expect([other.status, other.err]).toEqual([
      1,
      expect.stringMatching(/not those of a River .* column .* does not exist/),
    ]);
  });

  test('a queue without jobs has nothing to import', async () => {
    const { url, drop } = await createEmptyDatabase();
    undo.push(drop);
    await onServer(url, readFileSync('test/transfer/oban.sql', 'utf8'));
    const said = await dibsImport('postgres://nobody@127.0.0.1:1/none', '--from', 'oban', '--url', url);
    expect([said.status, said.err]).toEqual([0, expect.stringContaining('Oban has no jobs there that wait')]);
  });

  test('a schema is found by its name, whatever characters it has', async () => {
    const { url, drop } = await createEmptyDatabase();
    undo.push(drop);
    await onServer(url, readFileSync('test/transfer/oban.sql', 'utf8'));
    await onServer(url, 'alter schema public rename to "Shop, ""a"""');
    const args = ['--from', 'oban', '--schema', 'Shop, "a"', '--url', url];
    const said = await dibsImport('postgres://nobody@127.0.0.1:1/none', ...args);
    expect([said.status, said.err]).toEqual([0, expect.stringContaining('Oban has no jobs there that wait')]);
  });

  test('a Dibs that is away', async () => {
    const { url, drop } = await createEmptyDatabase();
    undo.push(drop);
    await onServer(url, readFileSync('test/transfer/oban.sql', 'utf8'));
    const client = new pg.Client(url);
    client.on('error', () => undefined);
    await client.connect();
    await client.query("insert into oban_jobs (worker) values ('w')");
    await client.end();
    const said = await dibsImport('postgres://nobody@127.0.0.1:1/none', '--from', 'oban', '--url', url);
    expect([said.status, said.err]).toEqual([1, expect.stringContaining('The database cannot serve: ')]);
  });
});
