import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { aroundQueries } from '../support/aroundQueries.ts';
import { cliAt } from '../support/cli.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll, relaysAreEmpty, SEVERAL } from '../support/severalDatabases.ts';

let service: Service;
let dibs: ReturnType<typeof cliAt>;
let names = 0;
const newQueue = () => `q${++names}`;
beforeAll(async () => {
  service = await startService();
  dibs = cliAt(await service.listen());
});
afterAll(() => service.stop());

const body = async (path: string) => (await service.call('GET', path)).body;
const counts = async (queue: string) => (await body(`/queues/${queue}`)).counts;

/** What the command printed, once it has done what it should. */
async function ok(...args: string[]): Promise<string> {
  const ran = await dibs(args);
  expect(ran, args.join(' ')).toMatchObject({ status: 0, stderr: expect.not.stringMatching(/^dibs:/) });
  return ran.stdout.trimEnd();
}

/** A job, taken and failed for good. */
async function dead(queue: string, error = 'boom'): Promise<string> {
  const id = await ok('enqueue', queue, '{}');
  const [job] = JSON.parse(await ok('claim', queue, '--json')).jobs;
  await ok('nack', job.id, job.lease_token, '--error', error, '--no-retry');
  return id;
}

describe('enqueue', () => {
  const PRECISE = '{"n":12345678901234567890,"f":1.10}';

  test('an argument, a file and standard input arrive exactly as they were, digits too', async () => {
    const queue = newQueue();
    const ids = [
      await ok('enqueue', queue, PRECISE),
      (await dibs(['enqueue', queue, '-'], { stdin: PRECISE })).stdout.trim(),
      (await dibs(['enqueue', queue, '--file', '-'], { stdin: PRECISE })).stdout.trim(),
    ];
    for (const id of ids) {
      expect(await ok('job', id, '--payload')).toBe(PRECISE);
      expect(await ok('job', id, '--json')).toContain(`"payload":${PRECISE}`);
      expect(await ok('job', id)).toContain('"n": 12345678901234567890');
    }
  });

  test('NDJSON is a job for each line, in batches, and prints the ids in order', async () => {
    const queue = newQueue();
    const stdin = Array.from({ length: 1500 }, (_, i) => `{"i":${i}}\n`).join('\n');
    const ran = await dibs(['enqueue', queue, '--ndjson', '-', '--priority', '3'], { stdin });
    expect(ran).toMatchObject({ status: 0, stderr: 'Enqueued 1,500 jobs.\n' });
    const ids = ran.stdout.trim().split('\n');
    expect(new Set(ids).size).toBe(1500);
    expect((await dibs(['enqueue', queue, '--ndjson', '-'], { stdin: '1\n' })).stderr).toBe(
      'Enqueued 1 job.\n',
    );
    expect(await body(`/jobs/${ids[1200]}`)).toMatchObject({ payload: { i: 1200 }, priority: 3 });
  });

  test('--specs takes what POST /jobs takes, and the queue of the command line counts where none is named', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    const stdin = `{"payload":1.0}\n{"queue":"${other}","payload":{"a":[{"b":",}"}]},"priority":7}\n`;
    const [first, second] = (await dibs(['enqueue', queue, '--specs', '-'], { stdin })).stdout
      .trim()
      .split('\n');
    expect(await ok('job', first as string, '--payload')).toBe('1.0');
    expect(await body(`/jobs/${second}`)).toMatchObject({
      queue: other,
      payload: { a: [{ b: ',}' }] },
      priority: 7,
    });
  });

  test('what is not JSON is refused with status 2, with its line, and --text sends it as a string', async () => {
    const queue = newQueue();
    expect(await dibs(['enqueue', queue, 'hello'])).toMatchObject({ status: 2, stdout: '' });
    const lines = await dibs(['enqueue', queue, '--ndjson', '-'], { stdin: '1\n\nnonsense\n' });
    expect(lines).toMatchObject({ status: 2, stdout: '' });
    expect(lines.stderr).toContain('Line 3 is not valid JSON');
    const late = newQueue();
    const stdin = `${'1\n'.repeat(1001)}nonsense\n2\n`;
    const some = await dibs(['enqueue', late, '--ndjson', '-'], { stdin });
    expect(some.status).toBe(1);
    expect(some.stderr).toMatch(/^1,000 jobs were enqueued, and no more: Line 1002 is not valid JSON/);
    expect(some.stdout.trim().split('\n')).toHaveLength(1000);
    expect((await counts(late)).ready).toBe(1000);
    expect(await ok('job', await ok('enqueue', queue, 'hello', '--text'), '--payload')).toBe('"hello"');
    expect((await counts(queue)).ready).toBe(1);
  });

  test('a unique key and an idempotency key enqueue once', async () => {
    const queue = newQueue();
    const first = await ok('enqueue', queue, '1', '--unique-key', 'k');
    const again = await dibs(['enqueue', queue, '1', '--unique-key', 'k']);
    expect(again.stdout.trim()).toBe(first);
    expect(again.stderr).toContain('is there already');
    const key = `key-${queue}`;
    expect(await ok('enqueue', queue, '2', '--idempotency-key', key)).toBe(
      await ok('enqueue', queue, '2', '--idempotency-key', key),
    );
    expect((await counts(queue)).ready).toBe(2);
  });
});

describe('leases', () => {
  test('claim, extend, release, nack and ack settle a job, and an empty queue ends with status 4', async () => {
    const queue = newQueue();
    const id = await ok('enqueue', queue, '{"a":1}');
    const claim = async () => JSON.parse(await ok('claim', queue, '--json', '--worker', 'me')).jobs[0];
    let job = await claim();
    expect(job).toMatchObject({ id, worker: 'me', payload: { a: 1 } });
    expect(await ok('extend', id, job.lease_token, '--lease-seconds', '300')).toContain('runs until');
    expect(await ok('release', id, job.lease_token)).toBe(`${id} is ready.`);
    job = await claim();
    expect(await ok('nack', id, job.lease_token, '--delay-seconds', '0', '--error', 'oh')).toContain(id);
    await ok('queue', 'set', queue, '--retention-seconds', '600');
    const shown = await ok('claim', queue, '--wait-seconds', '5');
    expect(shown).toMatch(/^ID +LEASE TOKEN .*\n/);
    const [, token = ''] = /^\S+ +(\S+)/m.exec(shown.split('\n')[1] as string) ?? [];
    expect(await ok('ack', id, token, '--result', '{"sum":1.50}')).toBe(`${id} is done.`);
    expect(await ok('job', id, '--json')).toContain('"result":{"sum":1.50}');
    expect(await dibs(['claim', queue])).toMatchObject({ status: 4, stdout: '' });
    expect(await dibs(['ack', id, `${token}0`])).toMatchObject({ status: 1, stdout: '' });
  });
});

describe('looking', () => {
  test('jobs, job, history and explain show what the API tells, as tables and as JSON', async () => {
    const queue = newQueue();
    const id = await dead(queue, 'SMTP 421');
    const other = await ok('enqueue', queue, '{"b":2}', '--group', 'g');
    const listed = await ok('jobs', '--queue', queue, '--state', 'dead', '--error-contains', 'SMTP');
    expect(listed).toMatch(new RegExp(`^ID .*\n${id} +${queue} +dead .*SMTP 421$`));
    const page = JSON.parse(await ok('jobs', '--queue', queue, '--limit', '1', '--json'));
    expect(page).toMatchObject({ jobs: [{ id: other }], next_cursor: expect.any(String) });
    const all = (await ok('jobs', '--queue', queue, '--all', '--json', '--payload')).split('\n');
    expect(all.flatMap((line) => JSON.parse(line).jobs)).toHaveLength(2);
    expect((await dibs(['jobs', '--queue', queue, '--limit', '1'])).stderr).toContain('--cursor');
    expect(await ok('history', id)).toMatch(/enqueued\n.*nacked +attempt 1, after \d+ s, SMTP 421\n.*dead/);
    const traced = await dead(newQueue(), 'Error: no such user\n    at send (mail.js:7)\n    at work');
    expect(await ok('history', traced)).toMatch(
      /, Error: no such user\n +at send \(mail\.js:7\)\n +at work\n.*dead/,
    );
    expect(await ok('explain', id)).toContain('(dead)');
    expect(await ok('explain', '--queue', queue)).toContain('(ready)');
    expect(await dibs(['explain'])).toMatchObject({ status: 2 });
    expect(await dibs(['job', id.replace(/.{8}$/, '00000000')])).toMatchObject({ status: 1 });
  });

  test('errors groups the dead jobs of a queue by why, and tells the command that retries some', async () => {
    const queue = newQueue();
    expect(await dibs(['errors', queue])).toMatchObject({ status: 1 });
    await ok('enqueue', queue, '1', '--delay-seconds', '3600');
    expect(await ok('errors', queue)).toBe('No dead jobs.');
    for (const error of ["can't reach 10.0.0.1", "can't reach 10.0.0.2", 'SMTP 421'])
      await dead(queue, error);
    const told = await ok('errors', queue);
    expect(told).toMatch(/^JOBS +LAST +ERROR\n +2 .* can't reach #\.#\.#\.#\n +1 .* SMTP #\n/);
    expect(told).toContain(`dibs retry --queue ${queue} --error-contains 'can'\\''t reach '`);
    expect(await ok('retry', '--queue', queue, '--error-contains', "can't reach ", '--yes')).toContain('2');
    expect(JSON.parse(await ok('errors', queue, '--json')).errors).toMatchObject([{ count: 1 }]);
  });

  test('workers shows who has jobs now', async () => {
    const queue = newQueue();
    expect(await ok('workers', '--queue', queue)).toBe('No worker has a job now.');
    await ok('enqueue', queue, '1');
    await ok('claim', queue, '--worker', 'host-1:7');
    expect(await ok('workers', '--queue', queue)).toMatch(
      new RegExp(`^WORKER +LEASED +SINCE +LEASE EXPIRES +QUEUES\nhost-1:7 +1 .*${queue}$`),
    );
    expect(JSON.parse(await ok('workers', '--json')).workers).toContainEqual(
      expect.objectContaining({ worker: 'host-1:7', queues: [queue] }),
    );
  });

  test('a search that finds nothing in its time goes on, and a name that no queue has is told', async () => {
    const queue = newQueue();
    await ok('queue', 'set', queue, '--max-attempts', '5');
    await onAll(
      service.databaseUrl,
      `insert into dibs.jobs (queue_id, state, id, run_at, finished_at, max_attempts, payload_bytes, priority, headers, payload, last_error)
       select q.id, 'dead', ('00000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, now(), now(), 5, 4, 0, '{}', 'null',
         case when i = 1 then 'needle' else 'hay' end
       from dibs.queues q cross join generate_series(1, 3000) as i where q.name = $1`,
      [queue],
    );
    let looks = 0;
    const undo = aroundQueries(service, async (_, parameters, run) => {
      const rows = await run();
      if (parameters && 'look' in parameters && ++looks)
        await new Promise((resolve) => setTimeout(resolve, 60));
      return rows;
    });
    const search = (...more: string[]) => ok('jobs', '--queue', queue, '--error-contains', ...more);
    try {
      for (const more of [[], ['--all']]) {
        const found = await search('needle', ...more);
        expect(found).toContain('00000000-0000-7000-8000-000000000001');
        expect(found).not.toContain('No jobs.');
        expect(await search('nothing', ...more)).toBe('No jobs.');
        const pages = (await search('needle', '--json', ...more)).split('\n');
        expect(pages.map((page) => JSON.parse(page).jobs.length)).toEqual([1]);
      }
      for (const text of ['needle', 'nothing']) {
        const args = ['jobs', '--queue', queue, '--error-contains', text];
        const said =
          /^Searched 3,000 jobs of this queue, the last one enqueued \d+ d ago\. That was all\.\n$/;
        expect((await dibs(args)).stderr).toMatch(said);
        for (const more of ['--all', '--json']) expect((await dibs([...args, more])).stderr).toBe('');
      }
    } finally {
      undo();
    }
    // Each of the six searches took more than one request.
    expect(looks).toBeGreaterThan(6 * 2);
    expect(await dibs(['jobs', '--queue', 'nowhere'])).toEqual({
      status: 0,
      stdout: 'No jobs.\n',
      stderr: 'There is no queue "nowhere".\n',
    });
  });

  test('what a payload or an error says cannot move the cursor of a terminal, or hide', async () => {
    const queue = newQueue();
    const evil = '\u001b[2J\u009b31m\u202e';
    const id = await dead(queue, evil);
    const made = (await dibs(['enqueue', queue, '-', '--text'], { stdin: evil })).stdout.trim();
    const shown = [
      await dibs(['job', id], { columns: 80 }),
      await dibs(['job', made], { columns: 80 }),
      await dibs(['jobs', '--queue', queue, '--payload'], { columns: 200 }),
      await dibs(['jobs', '--queue', queue], { columns: 200 }),
      await dibs(['history', id], { columns: 200 }),
    ].map(({ stdout }) => stdout.replaceAll('\u001b[1m', '').replaceAll('\u001b[0m', ''));
    for (const text of shown)
      for (const char of ['\u001b', '\u009b', '\u202e']) expect(text).not.toContain(char);
    expect(shown[1]).toContain('\\u202e');
  });

  test('a terminal gets colours and rows that fit; NO_COLOR and a pipe get none, and rows that are whole', async () => {
    const queue = newQueue();
    await dead(queue, `${'long '.repeat(60)}end`);
    const [wide, plain, piped] = [
      await dibs(['jobs', '--queue', queue], { columns: 90 }),
      await dibs(['jobs', '--queue', queue], { columns: 90, env: { NO_COLOR: '1' } }),
      await dibs(['jobs', '--queue', queue]),
    ];
    expect(wide.stdout).toContain('\u001b[1m');
    expect(plain.stdout).not.toContain('\u001b');
    expect(wide.stdout.split('\n')[1]).toBe(plain.stdout.split('\n')[1]);
    expect(Math.max(...plain.stdout.split('\n').map((line) => line.length))).toBe(90);
    expect(piped.stdout).toContain('long end');
  });
});

describe('queues', () => {
  test('set changes what is given and leaves the rest, none takes a limit away', async () => {
    const queue = newQueue();
    await ok('queue', 'set', queue, '--max-leased', '5', '--rate-limit', '100/60', '--backoff', 'linear');
    await ok('queue', 'set', queue, '--lease-seconds', '77', '--max-leased', 'none');
    const { config } = await body(`/queues/${queue}`);
    expect(config).toMatchObject({
      lease_seconds: 77,
      rate_limit: { jobs: 100, per_seconds: 60 },
      backoff: { kind: 'linear' },
    });
    expect(config.max_leased).toBeUndefined();
    expect(await ok('queue', queue)).toMatch(/lease_seconds +77/);
    expect(await ok('queues', '--all')).toMatch(new RegExp(`^${queue} +0`, 'm'));
    expect(await dibs(['queue', 'set', queue])).toMatchObject({ status: 2 });
  });

  test('set may choose the database of a new queue, and says which there is not', async () => {
    const queue = newQueue();
    expect(await ok('queue', 'set', queue, '--database', 'home')).toMatch(new RegExp(`^queue +${queue}`));
    expect(await dibs(['queue', 'set', queue, '--database', 'east'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('must be the name of a database'),
    });
  });

  // databases/merged tests several.
  test.skipIf(SEVERAL)('databases lists them, and opens and closes one', async () => {
    expect(await ok('databases')).toMatch(/^DATABASE +STATE .*\nhome +open +\d+/);
    expect(JSON.parse(await ok('databases', '--json')).databases).toMatchObject([{ name: 'home' }]);
    expect(await ok('databases', 'open', 'home')).toBe('Database "home" takes new queues.');
    expect(await dibs(['databases', 'close', 'home'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('there is no other database'),
    });
    expect(await dibs(['databases', 'open', 'east'])).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('There is no database "east".'),
    });
  });

  test('redrive --home sends dead jobs back to the queue they came from', async () => {
    const [queue, letters] = [newQueue(), newQueue()];
    await ok('queue', 'set', queue, '--dead-letter-queue', letters);
    await dead(queue, 'x');
    expect((await body(`/queues/${letters}`)).counts.ready).toBe(1);
    expect(await ok('redrive', letters, '--home')).toBe('1 job is back in its queue.');
    expect((await body(`/queues/${queue}`)).counts.ready).toBe(1);
  });

  test('pause and resume, redrive, purge and delete', async () => {
    const queue = newQueue();
    await dead(queue, 'x');
    await dead(queue, 'y');
    expect(await dibs(['pause', queue])).toMatchObject({ status: 0, stderr: '' });
    expect((await body(`/queues/${queue}`)).paused).toBe(true);
    await ok('resume', queue);
    expect((await body(`/queues/${queue}`)).paused).toBe(false);
    expect(await ok('redrive', queue, '--error-contains', 'y')).toBe('1 job is ready again.');
    expect(await dibs(['purge', queue])).toMatchObject({ status: 2 });
    expect(await ok('purge', queue, '--state', 'dead', '--yes')).toBe('1 job deleted.');
    expect(await dibs(['queue', 'delete', queue, '--yes'])).toMatchObject({ status: 2 });
    await ok('queue', 'delete', queue, '--force', '--yes');
    expect((await service.call('GET', `/queues/${queue}`)).status).toBe(404);
  });
});

test('a mistyped queue is refused or told, and made by nobody but enqueue, queue set and --create', async () => {
  const [queue, wrong] = [newQueue(), newQueue()];
  await ok('queue', 'set', queue, '--max-attempts', '3');
  // Not even the one that exists is paused, when another is mistyped.
  expect(await dibs(['pause', queue, wrong])).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/--create` makes a queue[\s\S]*queue_not_found/),
  });
  expect((await body(`/queues/${queue}`)).paused).toBe(false);
  for (const args of [
    ['resume', wrong],
    ['purge', wrong, '--state', 'dead', '--yes'],
    ['redrive', wrong],
    ['queue', wrong],
    ['queue', 'delete', wrong, '--force', '--yes'],
    ['explain', '--queue', wrong],
    ['tail', '--queue', wrong],
    ['cancel', '--queue', wrong, '--yes'],
    ['retry', '--queue', wrong, '--yes'],
    ['delete', wrong, '--state', 'dead', '--yes'],
    ['move', queue, wrong, '--yes'],
    ['move', wrong, queue, '--yes'],
  ])
    expect({ args, ...(await dibs(args)) }).toMatchObject({
      args,
      status: 1,
      stdout: '',
      stderr: expect.stringContaining('(queue_not_found)'),
    });
  for (const [args, status] of [
    [['claim', wrong], 4],
    [['jobs', '--queue', wrong], 0],
    [['operations', '--queue', wrong], 0],
    [['schedules', 'put', `s-${wrong}`, '--cron', '0 0 1 1 *', '--queue', wrong], 0],
  ] as [string[], number][])
    expect({ args, ...(await dibs(args)) }).toMatchObject({
      args,
      status,
      stderr: expect.stringContaining(`There is no queue "${wrong}".`),
    });
  expect((await service.call('GET', `/queues/${wrong}`)).status).toBe(404);
  expect(await ok('pause', wrong, '--create')).toBe(`${wrong} is paused.`);
  expect((await body(`/queues/${wrong}`)).paused).toBe(true);
});

describe('acts on many jobs', () => {
  test('without --yes, where nobody can be asked, nothing is done and the status is 2', async () => {
    const queue = newQueue();
    await ok('enqueue', queue, '1');
    for (const args of [
      ['purge', queue, '--state', 'ready'],
      ['queue', 'delete', queue, '--force'],
      ['cancel', '--queue', queue],
      ['retry', '--queue', queue],
      ['delete', queue, '--state', 'ready'],
      ['move', queue, newQueue()],
      ['schedules', 'delete', 'none'],
    ]) {
      const ran = await dibs(args);
      expect({ args, ...ran }).toMatchObject({ args, status: 2, stdout: '' });
      expect(ran.stderr).toContain('add --yes');
    }
    expect((await counts(queue)).ready).toBe(1);
    expect((await body(`/operations?queue=${queue}`)).operations).toEqual([]);
  });

  test('a terminal is told how many, and asked; only yes goes on', async () => {
    const queue = newQueue();
    for (const payload of ['1', '2']) await ok('enqueue', queue, payload);
    for (const types of ['n\n', '\n', '', 'yesterday\n']) {
      const ran = await dibs(['purge', queue, '--state', 'ready'], { types });
      expect(ran).toMatchObject({ status: 1, stdout: '' });
      expect(ran.stderr).toContain('2 ready');
      const cancelled = await dibs(['cancel', '--queue', queue], { types });
      expect(cancelled.status).toBe(1);
      expect(cancelled.stderr).toContain('2 jobs match.');
    }
    expect((await counts(queue)).ready).toBe(2);
    expect((await dibs(['cancel', '--queue', queue], { types: 'y\n' })).stdout).toContain(
      '2 of 2 jobs cancelled',
    );
  });

  test('cancel, retry, delete and move by filter; --dry-run only counts; operations lists them', async () => {
    const [queue, other] = [newQueue(), newQueue()];
    await ok('queue', 'set', other, '--max-attempts', '3');
    for (const error of ['a', 'a', 'b']) await dead(queue, error);
    expect(await ok('retry', '--queue', queue, '--error-contains', 'a', '--dry-run')).toBe('2 jobs match.');
    expect((await counts(queue)).dead).toBe(3);
    expect(await ok('retry', '--queue', queue, '--error-contains', 'a', '--yes')).toContain(
      '2 of 2 jobs made ready',
    );
    expect(await ok('move', queue, other, '--yes')).toContain('2 of 2 jobs moved');
    await relaysAreEmpty(service.databaseUrl);
    expect((await counts(other)).ready).toBe(2);
    expect(await ok('delete', queue, '--state', 'dead', '--yes')).toContain('1 of 1 job deleted');
    const id = await ok('cancel', '--queue', other, '--detach', '--yes');
    expect(await ok('operations', 'show', id, '--wait')).toMatch(/state +done/);
    expect(await ok('operations', '--queue', other)).toMatch(new RegExp(`${id} +cancel +${other} +done`));
    expect((await dibs(['operations', 'stop', id.replace(/.{8}$/, '00000000')])).status).toBe(1);
    expect(await dibs(['delete', queue, '--yes'])).toMatchObject({ status: 2 });
  });

  test('retry and cancel take ids, and one that fails does not keep the others', async () => {
    const queue = newQueue();
    const [second, first] = [await dead(queue), await ok('enqueue', queue, '1')];
    const ran = await dibs(['cancel', 'nonsense', first]);
    expect(ran).toMatchObject({ status: 1, stdout: `${first} is cancelled.\n` });
    expect(await ok('retry', second)).toBe(`${second} is ready.`);
    expect(await dibs(['cancel'])).toMatchObject({ status: 2 });
    expect(await dibs(['cancel', first, '--group', 'g'])).toMatchObject({ status: 2 });
  });
});

test('schedules are put, paused without a change of their payload, triggered and deleted', async () => {
  const queue = newQueue();
  const name = `s-${queue}`;
  await ok(
    'schedules',
    'put',
    name,
    '{"n":1.00}',
    '--cron',
    '0 3 * * *',
    '--timezone',
    'Europe/Berlin',
    '--queue',
    queue,
  );
  await ok('schedules', 'pause', name);
  expect(await ok('schedules')).toMatch(
    new RegExp(`${name} +0 3 \\* \\* \\* +Europe/Berlin +${queue} +paused`),
  );
  await ok('schedules', 'resume', name);
  const id = await ok('schedules', 'trigger', name);
  expect(await ok('job', id, '--payload')).toBe('{"n":1.00}');
  expect(await ok('schedules', 'show', name)).toContain('"n": 1.00');
  await ok('schedules', 'delete', name, '--yes');
  expect((await dibs(['schedules', 'show', name])).status).toBe(1);
});

describe('what is wrong', () => {
  test('a wrong command line is 2, a refusal 1, a Dibs that is away 3', async () => {
    for (const args of [
      ['jobs', '--nonsense'],
      ['jobs', 'extra'],
      ['jobs', '--limit', 'many'],
      ['purge', 'q', '--state', 'leased'],
      ['job'],
    ])
      expect({ args, ...(await dibs(args)) }).toMatchObject({ args, status: 2, stdout: '' });
    const refused = await dibs(['queue', 'set', 'q', '--lease-seconds', '0']);
    expect(refused.status).toBe(1);
    expect(refused.stderr).toBe('dibs: lease_seconds must be at least 0.1. (invalid_request)\n');
    expect((await dibs(['explain'])).stderr).toMatch(/^dibs: explain takes /);
    expect(await dibs(['queues'], { env: { DIBS_URL: 'http://127.0.0.1:9' } })).toMatchObject({
      status: 3,
      stdout: '',
      stderr: expect.stringMatching(/\nIs that the right Dibs\? DIBS_URL or/),
    });
  });

  test('--help of each command has an example', async () => {
    const { stdout, status } = await dibs(['queue', 'set', '--help']);
    expect(status).toBe(0);
    expect(stdout).toMatch(/Usage: dibs queue set[\s\S]*Examples:\n {2}\$ dibs queue set/);
  });
});
