import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { progressText, showProgress } from '../../commands/progress.ts';
import { exportTo } from '../../src/transfer/exportTo.ts';
import { checkFile, importFrom } from '../../src/transfer/importFrom.ts';
import { createDatabase, onServer } from '../support/database.ts';
import { sealed } from '../support/exportFile.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { type Service, startService } from '../support/service.ts';
import { fill, JOB_COLUMNS, PAYLOADS } from '../support/transferred.ts';
import { until } from '../support/until.ts';

let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
let source: Service;
let file: string;
/** The job whose lease still runs when it is exported. */
let leased: { id: string; lease_token: string };
const undo: (() => Promise<unknown>)[] = [];

const noProgress = () => undefined;

async function exported(databaseUrl: string, to: string, withKeys = false): Promise<string> {
  const path = join(directory.path, to);
  const out = createWriteStream(path);
  await exportTo(out, { url: databaseUrl, withKeys, progress: noProgress });
  out.end();
  await finished(out);
  return path;
}

const imported = (url: string, path = file, newIds = false) =>
  importFrom(createReadStream(path), { url, newIds, progress: noProgress });

async function target(): Promise<string> {
  const { url, drop } = await createDatabase();
  undo.push(drop);
  return url;
}

async function service(databaseUrl: string): Promise<Service> {
  const started = await startService({ databaseUrl });
  undo.push(started.stop);
  return started;
}

/** All that is exported of the jobs, as PostgreSQL has it. */
const jobsOf = (url: string) =>
  onServer(
    url,
    `select ${JOB_COLUMNS}, position
     from dibs.jobs order by id`,
  );
const queuesOf = (url: string) => onServer(url, 'select * from dibs.queues order by id');
const countOf = async (url: string, table = 'jobs') =>
  Number((await onServer<{ n: string }>(url, `select count(*) as n from dibs.${table}`))[0]?.n);

async function dibs(env: Record<string, string>, ...args: string[]) {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, ['dist/main.js', ...args], { env: { ...inherited, ...env } });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk) => {
    said.out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    said.err += chunk;
  });
  const ended = once(child, 'close').then(([status]) => ({ status, ...said }));
  return { child, ended };
}
const run = async (env: Record<string, string>, ...args: string[]) => (await dibs(env, ...args)).ended;

beforeAll(async () => {
  directory = await temporaryDirectory();
  source = await startService();
  leased = await fill(source.call);
  file = await exported(source.databaseUrl, 'all.ndjson');
});
afterAll(async () => {
  await source.stop();
  await directory.remove();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

describe('what is exported and imported', () => {
  test('is the same: jobs of every state, queues, windows and schedules', async () => {
    const url = await target();
    const jobs = await jobsOf(source.databaseUrl);
    expect([...new Set(jobs.map(({ state }) => state))].sort()).toEqual([
      'blocked',
      'cancelled',
      'completed',
      'dead',
      'leased',
      'ready',
      'scheduled',
    ]);
    expect(await imported(url)).toEqual({ jobs: jobs.length, skipped: 0, before: 0 });
    expect(await jobsOf(url)).toEqual(jobs);
    expect(await queuesOf(url)).toEqual(await queuesOf(source.databaseUrl));
    for (const table of ['unique_windows', 'schedules']) {
      const rows = `select (to_jsonb(t) - 'revision')::text as row from dibs.${table} t order by 1`;
      expect(await onServer(url, rows)).toEqual(await onServer(source.databaseUrl, rows));
    }
    expect(await onServer(url, 'select verb, actor, count::integer from dibs.audit')).toEqual([
      { verb: 'importJobs', actor: 'dibs import', count: jobs.length },
    ]);
  });

  test('is marked, with keys and without: scan floors may have passed it', async () => {
    const url = await target();
    await imported(url);
    const ready = await onServer(
      url,
      `select id from dibs.jobs j where state = 'ready' and not exists (
         select from dibs.arrival_marks m where m.queue_id = j.queue_id and j.position between m.first and m.last)`,
    );
    expect(ready).toEqual([]);
  });

  test('serves as it did: exact payloads, order, leases, groups, unique keys, schedules, pauses', async () => {
    const url = await target();
    await imported(url);
    const { call, errors } = await service(url);
    const claim = async (queue: string, limit: number) =>
      (await call('POST', '/jobs/claim', { queues: [queue], limit, payload_format: 'text' })).body.jobs;

    const exact = await claim('exact', 20);
    expect(exact.map((job: { payload_text: string }) => job.payload_text)).toEqual(PAYLOADS);
    const order = await claim('order', 5);
    expect(order.map((job: { payload_text: string }) => job.payload_text)).toEqual([
      '"first"',
      '"second"',
      '"last"',
    ]);
    const fair = await claim('fair', 5);
    expect(fair.map((job: { fairness_key: string }) => job.fairness_key)).toEqual(['a', 'b', 'a']);

    const settled = await call('POST', `/jobs/${leased.id}/ack`, {
      lease_token: leased.lease_token,
      result: 1,
    });
    expect(settled.status).toBe(200);
    // Of five leases at once, none runs any more.
    expect(await claim('kept', 9)).toHaveLength(2);

    const [first] = await claim('grouped', 5);
    await call('POST', `/jobs/${first.id}/ack`, { lease_token: first.lease_token });
    const [second, ...more] = await until(async () => {
      const jobs = await claim('grouped', 5);
      return jobs.length > 0 && jobs;
    });
    expect([first.payload_text, second.payload_text, more]).toEqual(['1', '2', []]);

    for (const unique_key of ['waiting', 'window'])
      expect(
        (await call('POST', '/jobs', { queue: 'unique', payload: 1, unique_key })).body.deduplicated,
      ).toBe(true);
    expect((await call('GET', '/queues/halted')).body).toMatchObject({ paused: true, counts: { ready: 1 } });
    expect((await call('GET', '/queues/order')).body.paused).toBe(false);
    expect((await call('GET', '/schedules/nightly')).body).toMatchObject({
      timezone: 'Europe/Berlin',
      paused: false,
    });
    // What comes now comes behind, and no new queue takes an id that is taken.
    await call('POST', '/jobs', { queue: 'halted', payload: 2 });
    expect((await call('POST', '/jobs', { queue: 'brand-new', payload: 2 })).status).toBe(201);
    const positions = await onServer(
      url,
      'select count(distinct position)::integer - count(*)::integer as doubled from dibs.jobs',
    );
    expect(positions).toEqual([{ doubled: 0 }]);
    expect(errors).toEqual([]);
  });

  test('works beside a service that runs: its claims get the jobs when the import has ended', async () => {
    const url = await target();
    const { call } = await service(url);
    await call('POST', '/jobs', { queue: 'mine', payload: 1 });
    const waiting = call('POST', '/jobs/claim', { queues: ['order'], wait_seconds: 30 });
    await expect(imported(url)).rejects.toThrow(
      /Queues of this database are in the way: mine \(it has jobs\)/,
    );
    await imported(url, file, true);
    expect((await waiting).body.jobs).toMatchObject([{ payload: 'first' }]);
  });
});

test('a queue of the same id or name is in the way, and nothing is written; --new-ids gives its jobs new ids', async () => {
  const url = await target();
  await onServer(url, "insert into dibs.queues (name) values ('other'), ('order')");
  await expect(imported(url)).rejects.toThrow(
    /in the way: order, other\. Ids of jobs name their queue\. --new-ids/,
  );
  expect([await countOf(url), await countOf(url, 'queues')]).toEqual([0, 2]);
  const jobs = await jobsOf(source.databaseUrl);
  expect(await imported(url, file, true)).toMatchObject({ jobs: jobs.length, skipped: 1 });
  const wrong = await onServer(
    url,
    "select id from dibs.jobs where right(id::text, 6) <> lpad(to_hex(queue_id), 6, '0')",
  );
  expect(wrong).toEqual([]);
  const start = (id: string) => id.slice(0, 30);
  const ids = (rows: { id?: string }[]) => rows.map(({ id }) => start(String(id))).sort();
  expect(ids(await jobsOf(url))).toEqual(ids(jobs));
});

test('dead letter queues in a circle, of two Dibs together, hold up no request, and can be changed', async () => {
  const [from, to] = [await service(await target()), await service(await target())];
  const put = (at: Service, name: string, dead_letter_queue?: string) =>
    at.call('PUT', `/queues/${name}`, { dead_letter_queue });
  await put(from, 'b', 'a');
  await from.call('DELETE', '/queues/a');
  await put(to, 'a', 'b');
  await imported(to.databaseUrl, await exported(from.databaseUrl, 'circle.ndjson'), true);
  const { config } = (await to.call('GET', '/queues/b')).body;
  expect(config).toMatchObject({ dead_letter_queue: 'a' });
  expect(await put(to, 'c', 'a')).toMatchObject({ status: 200 });
  expect(await put(to, 'a', 'b')).toMatchObject({ status: 400 });
  expect(await put(to, 'a', 'end')).toMatchObject({ status: 200 });
  expect(await put(to, 'c', 'b')).toMatchObject({ status: 200 });
});

test('an import that is repeated does nothing twice, also when its jobs are done meanwhile', async () => {
  const url = await target();
  await imported(url);
  await onServer(url, "delete from dibs.jobs where state = 'ready'");
  const left = await countOf(url);
  expect((await imported(url)).before).toBeGreaterThan(left);
  expect(await countOf(url)).toBe(left);
});

test('a queue with jobs that shares only its number with the file is in the way, and --new-ids is the way on', async () => {
  const url = await target();
  const { call } = await service(url);
  await call('POST', '/jobs', { queue: 'mine', payload: 1 });
  await expect(imported(url)).rejects.toThrow(
    /in the way: mine \(it has jobs\)\. .*--new-ids gives the jobs new ids/,
  );
  await imported(url, file, true);
  await call('POST', '/jobs', { queue: 'order', payload: 1 });
  await expect(imported(url, await exported(url, 'again.ndjson'), true)).rejects.toThrow(
    /Import into a database where they have no jobs\.$/,
  );
});

test('an import that has ended, and whose queues were deleted since, says that their jobs are not there', async () => {
  const url = await target();
  const env = { DATABASE_URL: url };
  await imported(url);
  const again = () => run(env, 'import', file).then(({ status, err }) => [status, err.split('\n').at(-2)]);
  const jobs = (await countOf(url)).toLocaleString('en-US');
  const said = `Nothing was imported: an earlier import of this file has put in ${jobs} jobs, and has ended.`;
  expect(await again()).toEqual([0, said]);
  const { call } = await service(url);
  for (const queue of ['order', 'fair'])
    expect(await call('DELETE', `/queues/${queue}?force=true`)).toMatchObject({ status: 204 });
  const [status, told] = await again();
  expect(status).toBe(0);
  expect(told).toMatch(
    /^Nothing was imported: .* Queues of it were deleted since: .*order.*\. Their jobs are not there\.$/,
  );
  expect(told).toMatch(/fair/);
});

test('a job that went to a dead letter queue still leads to its dead letter', async () => {
  const from = await service(await target());
  await from.call('PUT', '/queues/failing', { dead_letter_queue: 'letters', retention_seconds: 600 });
  const { id } = (await from.call('POST', '/jobs', { queue: 'failing', payload: 1 })).body;
  const [{ lease_token }] = (await from.call('POST', '/jobs/claim', { queues: ['failing'] })).body.jobs;
  await from.call('POST', `/jobs/${id}/nack`, { lease_token, retry: false });
  const letters = await exported(from.databaseUrl, 'letters.ndjson');
  const { moved_to } = (await from.call('GET', `/jobs/${id}`)).body;

  const same = await service(await target());
  await imported(same.databaseUrl, letters);
  expect((await same.call('GET', `/jobs/${id}`)).body.moved_to).toBe(moved_to);
  expect((await same.call('GET', `/jobs/${moved_to}`)).body).toMatchObject({ queue: 'letters' });

  const other = await service(await target());
  await other.call('POST', '/jobs', { queue: 'mine', payload: 1 });
  await imported(other.databaseUrl, letters, true);
  const [job] = (await other.call('GET', '/jobs?queue=failing')).body.jobs;
  expect(job.moved_to).not.toBe(moved_to);
  expect((await other.call('GET', `/jobs/${job.moved_to}`)).body).toMatchObject({ queue: 'letters' });
});

describe('an import that is killed', () => {
  const JOBS = 12_000;
  let large: string;
  beforeAll(async () => {
    const from = await createDatabase();
    await onServer(from.url, "insert into dibs.queues (name) values ('large')");
    await onServer(
      from.url,
      `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
       select id, dibs.new_id(id), 'ready', now(), 5, 40, 0, '{}', to_json(repeat('x', 38))
       from dibs.queues, generate_series(1, ${JOBS})`,
    );
    large = await exported(from.url, 'large.ndjson');
    await from.drop();
  });

  test('-9 leaves whole batches and paused queues. The next one goes on, and nothing is there twice', async () => {
    const url = await target();
    const env = { DATABASE_URL: url };
    const { child, ended } = await dibs(env, 'import', large);
    await until(async () => (await countOf(url)) > 0, { everyMs: 5 });
    child.kill('SIGKILL');
    await ended;
    const half = await until(async () => {
      const [busy] = await onServer(
        url,
        "select from pg_stat_activity where application_name = 'dibs import' and datname = current_database()",
      );
      return !busy && (await countOf(url));
    });
    expect(half).toBeLessThan(JOBS);
    expect(half % 500).toBe(0);
    const paused = () => onServer(url, 'select paused from dibs.queues');
    expect(await paused()).toEqual([{ paused: true }]);
    // Somebody finishes a job meanwhile. It must not come back.
    await onServer(url, 'delete from dibs.jobs where id = (select id from dibs.jobs order by id limit 1)');
    const again = await run(env, 'import', large);
    expect(again).toMatchObject({ status: 0, out: '' });
    expect(again.err).toMatch(
      new RegExp(
        `Imported ${JOBS.toLocaleString('en-US')} jobs in .* An earlier import had put in ` +
          `${(half + 2).toLocaleString('en-US')} lines`,
      ),
    );
    expect(await countOf(url)).toBe(JOBS - 1);
    expect(await paused()).toEqual([{ paused: false }]);
  });
});

describe('a file that is not whole', () => {
  const lines = () => readFileSync(file, 'utf8').split('\n').slice(0, -1);
  const cases: [string, () => string, (lines: string[]) => RegExp][] = [
    [
      'cut inside a line',
      () => lines().join('\n').slice(0, -200),
      (all) => new RegExp(`^Line (${all.length}|${all.length - 1}) is cut short`),
    ],
    [
      'cut between lines',
      () => `${lines().slice(0, -3).join('\n')}\n`,
      (all) => new RegExp(`^Line ${all.length - 3} is the last one\\. The end`),
    ],
    ['empty', () => '', () => /^Line 1 is missing: the file is empty/],
    ['foreign', () => '{"level":30,"msg":"hello"}\n', () => /^Line 1 is not a line of an export of Dibs/],
    ['no JSON', () => 'PGDMP\u0001\u000e\n', () => /^Line 1 is not valid JSON in UTF-8/],
    [
      'with a foreign line inside',
      () => [...lines().slice(0, 4), '{"kind":"order"}', ...lines().slice(4)].join('\n'),
      () => /^Line 5 is not a line/,
    ],
    [
      'with a line that was changed',
      () => `${lines().join('\n').replace('"first', '"First')}\n`,
      (all) => new RegExp(`^Line ${all.length} has another checksum`),
    ],
    [
      'with a line that is gone',
      () =>
        `${lines()
          .filter((_, i, all) => i !== all.length - 3)
          .join('\n')}\n`,
      (all) => new RegExp(`^Line ${all.length - 1} says that ${all.length - 1} lines`),
    ],
    [
      'with more behind its end',
      () => `${lines().join('\n')}\n{}\n`,
      (all) => new RegExp(`^Line ${all.length + 1} stands behind the end`),
    ],
    [
      'of a newer Dibs',
      () => sealed([(lines()[0] as string).replace(/"migration":\d+/, '"migration":9000')]),
      () => /^Line 1 says that a newer Dibs/,
    ],
  ];

  test.each(cases)('%s: is refused with the number of its line', async (_, text, line) => {
    const path = join(directory.path, 'bad');
    writeFileSync(path, text());
    await expect(checkFile(createReadStream(path), noProgress)).rejects.toThrow(line(lines()));
  });

  test('is refused by the command before it needs a database', async () => {
    const path = join(directory.path, 'cut');
    writeFileSync(path, lines().join('\n').slice(0, -200));
    expect(await run({ DATABASE_URL: 'postgres://127.0.0.1:1/x' }, 'import', path)).toMatchObject({
      status: 1,
      out: '',
      err: expect.stringMatching(/^dibs: Line \d+ is cut short\. The file is not whole\.\n$/),
    });
  });

  test('is refused with its line when PostgreSQL refuses it, and the lines before it stay for the next try', async () => {
    const url = await target();
    const body = lines().slice(0, -1);
    const at = body.findIndex((line) => line.includes('"payload":"1.0"'));
    const whole = body[at] as string;
    const path = join(directory.path, 'refused');
    writeFileSync(path, sealed(body.with(at, whole.replace('"payload":"1.0"', '"payload":"{"'))));
    await expect(imported(url, path)).rejects.toThrow(
      new RegExp(`^Line ${at + 1} cannot be put in: invalid input syntax for type json`),
    );
    await imported(url);
    expect(await countOf(url)).toBe(await countOf(source.databaseUrl));
  });
});

test('access keys go along when they are asked for, and open the other database', async () => {
  const from = await startService();
  undo.push(from.stop);
  const made = (await from.call('POST', '/keys', { name: 'shop', scopes: ['admin'] })).body;
  const [with_, without] = [
    await exported(from.databaseUrl, 'keys', true),
    await exported(from.databaseUrl, 'none'),
  ];
  expect(readFileSync(with_, 'utf8')).not.toContain(made.key.slice(40));
  const closed = await target();
  const { call } = await service(closed);
  await imported(closed, without);
  expect((await call('GET', '/queues')).status).toBe(200);
  await imported(closed, with_);
  await until(async () => (await call('GET', '/queues')).status === 401);
  expect((await call('GET', '/queues', undefined, { authorization: `Bearer ${made.key}` })).status).toBe(200);
});

test('however much there is, both hold little of it', async () => {
  const MIB = 160;
  const from = await target();
  await onServer(from, "insert into dibs.queues (name) values ('large')");
  await onServer(
    from,
    `insert into dibs.jobs (queue_id, id, state, run_at, max_attempts, payload_bytes, priority, headers, payload)
     select id, dibs.new_id(id), 'ready', now(), 5, 1048576, 0, '{}', to_json(repeat('x', 1048574))
     from dibs.queues, generate_series(1, ${MIB})`,
  );
  const path = join(directory.path, 'mib.ndjson');
  const to = await target();
  for (const [url, verb] of [
    [from, 'export'],
    [to, 'import'],
  ] as const) {
    const { child, ended } = await dibs(
      { DATABASE_URL: url, NODE_OPTIONS: '--max-old-space-size=48' },
      verb,
      path,
    );
    let most = 0;
    const watch = setInterval(() => {
      try {
        most = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1] ?? most);
      } catch {
        // It has ended.
      }
    }, 20);
    expect(await ended).toMatchObject({ status: 0 });
    clearInterval(watch);
    // Node itself takes 80 MiB. Whoever holds the file takes 240 at least.
    expect(most / 1024, verb).toBeLessThan(MIB + 40);
  }
  expect(await countOf(to)).toBe(MIB);
});

describe('how far it is', () => {
  test('stands in a line on a log, and in a bar on a terminal', () => {
    expect(progressText(90_000, 200_000, 10_000)).toBe(
      '45 % (90,000 of 200,000 jobs), 9,000 a second, 13 s to go',
    );
    // What was done before this time tells nothing of how long the rest takes.
    expect(progressText(60, 100, 60_000, 50)).toBe('60 % (60 of 100 jobs), 10 a minute, 4 min to go');
    expect(progressText(51, 52, 1_800_000, 50)).toBe('98 % (51 of 52 jobs), 2 an hour, 30 min to go');
    expect(progressText(40, 100, 60_000, 50)).toBe('40 % (40 of 100 jobs), 0 a second');
    let now = 0;
    const written: string[] = [];
    const screen = { isTTY: true, write: (text: string) => written.push(text) };
    const bar = showProgress('Exported', screen, () => now);
    for (now = 0; now <= 1000; now += 10) bar.progress(now, 1000);
    bar.end();
    expect(written.length).toBeLessThan(15);
    expect(written.at(-2)).toContain(`[${'#'.repeat(30)}] Exported 100 % (1,000 of 1,000 jobs)`);
    const lines: string[] = [];
    now = 0;
    const plain = showProgress('Exported', { write: (text) => lines.push(text) }, () => now);
    for (now = 0; now <= 12_000; now += 1000) plain.progress(now, 24_000);
    plain.end();
    expect(lines).toEqual([
      expect.stringMatching(/^Exported 20 %.*, 19 s to go\n$/),
      expect.stringMatching(/^Exported 41 %/),
    ]);
  });

  test('a terminal sees a bar; standard output has the file alone', async () => {
    const out = join(directory.path, 'tty.ndjson');
    const script = `import pty; pty.spawn(['sh', '-c', 'exec ${process.execPath} dist/main.js export > ${out}'])`;
    const child = spawn('python3', ['-c', script], {
      env: { ...process.env, DATABASE_URL: source.databaseUrl },
    });
    let seen = '';
    child.stdout.on('data', (chunk) => {
      seen += chunk;
    });
    await once(child, 'close');
    expect(seen).toMatch(/\[#{30}\] Exported 100 % \(\d+ of \d+ jobs\)/);
    expect(readFileSync(out, 'utf8').trimEnd().split('\n').at(-1)).toContain('"kind":"end"');
  });

  test('a reader that goes away ends an export', async () => {
    const command = `(${process.execPath} dist/main.js export; echo "ended with $?" >&2) | head -c 100`;
    const child = spawn('sh', ['-c', command], { env: { ...process.env, DATABASE_URL: source.databaseUrl } });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    await once(child, 'close');
    expect(said).toMatch(/^dibs: Standard output took no more: .*EPIPE\.\nended with 1\n$/m);
  });

  test('a file has its name only when it is whole; a wrong command line is 2', async () => {
    const path = join(directory.path, 'named.ndjson');
    expect(await run({ DATABASE_URL: 'postgres://127.0.0.1:1/x' }, 'export', path)).toMatchObject({
      status: 1,
    });
    expect([existsSync(path), existsSync(`${path}.part`)]).toEqual([false, false]);
    for (const args of [['export', 'a', 'b'], ['import'], ['import', 'a', '--nonsense']])
      expect(await run({}, ...args)).toMatchObject({
        status: 2,
        err: expect.stringMatching(/^dibs: .*\nAdd --help to see what it takes\.\n$/),
      });
    expect(await run({}, 'import', join(directory.path, 'missing'))).toMatchObject({
      status: 1,
      err: expect.stringContaining('cannot be read'),
    });
  });
});
