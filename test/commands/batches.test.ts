import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unavailable } from '../../src/errors.ts';
import { aroundQueries } from '../support/aroundQueries.ts';
import { cliAt, type Given } from '../support/cli.ts';
import { UNKNOWN_ID } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onTerminal } from '../support/terminal.ts';
import { until } from '../support/until.ts';

let service: Service;
let url: string;
let dibs: ReturnType<typeof cliAt>;
let names = 0;
const newQueue = () => `q${++names}`;
beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  dibs = cliAt(url);
});
afterAll(() => service.stop());

/** What the command printed, once it has done what it should. */
async function ok(args: string[], given: Given = {}): Promise<string> {
  const ran = await dibs(args, given);
  expect(ran, args.join(' ')).toMatchObject({ status: 0, stderr: expect.not.stringMatching(/^dibs:/) });
  return ran.stdout.trimEnd();
}
/** A new queue in the database of this one. */
async function beside(queue: string): Promise<string> {
  const name = `${queue}.${++names}`;
  await ok(['queue', 'set', name, '--max-attempts', '3']);
  return name;
}
const create = (...args: string[]) => ok(['batch', 'create', ...args]);
const look = async (id: string) => JSON.parse((await dibs(['batch', id, '--json'])).stdout);
const jobsOf = async (queue: string) =>
  (await service.call('GET', `/jobs?queue=${queue}&include=payload&order=oldest`)).body.jobs;
const payloads = async (queue: string) =>
  (await jobsOf(queue)).map(({ payload }: { payload: unknown }) => payload);

const claim = async (queue: string) => JSON.parse(await ok(['claim', queue, '--json'])).jobs[0];
async function ack(queue: string) {
  const job = await claim(queue);
  await ok(['ack', job.id, job.lease_token]);
}
async function dies(queue: string) {
  const job = await claim(queue);
  await ok(['nack', job.id, job.lease_token, '--no-retry']);
}

describe('batch create', () => {
  test('prints the id alone, and enqueue puts jobs in: one, and those of lines', async () => {
    const queue = newQueue();
    const other = await beside(queue);
    const { stdout } = await dibs(['batch', 'create', queue, '--name', 'issue 12']);
    expect(stdout).toMatch(/^[0-9a-f-]{36}\n$/);
    const id = stdout.trim();
    const alone = await ok(['enqueue', queue, '1', '--batch', id]);
    const lines = await ok(['enqueue', queue, '--ndjson', '-', '--batch', id], { stdin: '2\n3\n' });
    const elsewhere = (await look(await create(queue))).id;
    const specs = `{"payload":4.0}\n{"queue":"${other}"}\n{"batch":"${elsewhere}"}\n`;
    const given = await ok(['enqueue', queue, '--specs', '-', '--batch', id], { stdin: specs });
    const made = [alone, ...lines.split('\n'), ...given.split('\n')];
    const all = await ok(['jobs', '--batch', id, '--oldest', '--json', '--payload']);
    // Ids of one request are in the order of their queues.
    expect(all.match(/(?<="payload":)[^,]+/g)?.sort()).toEqual(['1', '2', '3', '4.0', 'null']);
    const listed = await ok(['jobs', '--batch', id, '--queue', other]);
    expect(listed).toMatch(new RegExp(`^ID .*\n${made[4]} +${other} +ready`));
    expect(await ok(['jobs', '--batch', id, '--state', 'leased'])).toBe('No jobs.');
    expect(await ok(['job', made[5] as string])).toMatch(new RegExp(`^batch +${elsewhere}$`, 'm'));
    expect(await look(id)).toMatchObject({ name: 'issue 12', queue, state: 'open', counts: { ready: 5 } });
  });

  test('takes jobs from lines, followers of each shape, and --closed', async () => {
    const queue = newQueue();
    const after = await beside(queue);
    const outer = await create(queue);
    const job = `{"queue": "${after}", "priority": 5, "payload": 1.50, "batch": "${outer}"}`;
    const args = [
      queue,
      '--ndjson',
      '-',
      '--on-success',
      job,
      '--on-end',
      `${after}={"a":"b=c"}`,
      '--closed',
    ];
    const id = await ok(['batch', 'create', ...args], { stdin: '1\n\n2\n' });
    expect(await look(id)).toMatchObject({
      state: 'running',
      counts: { ready: 2 },
      followers: ['on_end', 'on_success'],
    });
    expect(await ok(['batch', outer, '--explain'])).toMatch(/\(follower_awaited\)$/);
    for (let i = 0; i < 2; i++) await ack(queue);
    expect(await jobsOf(after)).toMatchObject([
      { payload: { a: 'b=c' }, batch: null },
      { payload: 1.5, priority: 5, batch: outer },
    ]);
    const [, second] = await jobsOf(after);
    expect(await ok(['job', second.id, '--payload'])).toBe('1.50');
  });

  test('says which queues it makes: they may be mistyped', async () => {
    const [queue, after] = [newQueue(), newQueue()];
    const args = ['batch', 'create', queue, '--on-success', after, '--on-end', `{"queue":"${after}"}`];
    const said = [queue, after].map((name) => `There was no queue "${name}". The batch made it.\n`);
    expect(await dibs(args)).toMatchObject({ status: 0, stderr: said.join('') });
    expect(await dibs(args)).toMatchObject({ status: 0, stderr: '' });
  });

  test('--text sends strings, and a follower may have no payload', async () => {
    const queue = newQueue();
    const after = await beside(queue);
    const followers = ['--on-success', after, '--on-end', `${after}=it is done`];
    const specs = await ok(['batch', 'create', queue, '--specs', '-'], {
      stdin: `{"queue":"${after}","payload":7}\n`,
    });
    expect((await look(specs)).counts.ready).toBe(1);
    const id = await ok(['batch', 'create', queue, '--text', '--ndjson', '-', '--closed', ...followers], {
      stdin: 'a.png\n"b".png\n',
    });
    expect(await payloads(queue)).toEqual(['a.png', '"b".png']);
    for (let i = 0; i < 2; i++) await ack(queue);
    expect(await payloads(after)).toEqual([7, 'it is done', null]);
    expect((await look(id)).followers).toEqual([]);
  });

  test.each<[string[], number, string, string?]>([
    [['batch', 'create'], 2, "missing required argument 'queue'"],
    [
      ['batch', 'create', 'q', '--on-end', '=1'],
      2,
      '--on-end takes QUEUE, QUEUE=PAYLOAD or a job as JSON, not "=1".',
    ],
    [['batch', 'create', 'q', '--on-end', 'q=hello'], 2, 'The payload of --on-end is not valid JSON: hello.'],
    [['batch', 'create', 'q', '--on-success', '{"a"'], 2, 'The job of --on-success is not valid JSON: {"a"'],
    [['batch', 'create', 'q', '--ndjson', '-', '--specs', '-'], 2, 'in one way'],
    [['batch', 'create', 'q', '--ndjson', '-'], 2, 'Line 2 is not valid JSON', '1\nno\n'],
    [['batch', 'create', 'q', '--specs', '-'], 2, 'must be an object', '[]\n'],
    [
      ['batch', 'create', 'q', '--ndjson', '-'],
      2,
      'A batch is created with 1,000 jobs at most.',
      '1\n'.repeat(1001),
    ],
    [['batch', 'create', 'q', '--ndjson', '/nowhere'], 2, '/nowhere cannot be read'],
    [['batch', 'create', 'no queue'], 1, 'queue must be'],
    [['batch', 'create', 'q', '--on-end', '{"unknown": 1}'], 1, 'unknown'],
    [['batch', 'create', 'q', '--name', ''], 1, 'name must'],
    [['batch', 'create', 'q', 'q'], 2, 'too many arguments'],
    [['batch', 'craete', 'q'], 2, "unknown command 'batch craete'"],
    [['batch', 'create', 'q', '--priority', '1'], 2, "unknown option '--priority'"],
  ])('%j is refused with status %i, and makes nothing', async (args, status, why, stdin = '') => {
    const before = (await service.call('GET', '/batches?limit=1')).body.batches;
    const ran = await dibs(args, { stdin });
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(why);
    expect((await service.call('GET', '/batches?limit=1')).body.batches).toEqual(before);
    expect((await service.call('GET', '/queues/q')).status).toBe(404);
  });
});

describe('batch', () => {
  test('shows one, and the list has how far each is', async () => {
    const queue = newQueue();
    const id = await ok(['batch', 'create', queue, '--name', 'pages', '--ndjson', '-', '--on-end', queue], {
      stdin: '1\n'.repeat(3),
    });
    await ack(queue);
    await dies(queue);
    const shown = await ok(['batch', id]);
    expect(shown).toMatch(
      /^name +pages\nqueue +q\d+\nstate +open\ndone +2 of 3 jobs\nnow +Jobs are unfinished: 1 ready/m,
    );
    const [job] = (await service.call('GET', `/jobs?batch=${id}&limit=1`)).body.jobs;
    expect(await ok(['history', job.id])).toMatch(new RegExp(`enqueued +in the batch ${id}$`, 'm'));
    expect(shown).toMatch(/^ready +1$.*^completed +1$.*^dead +1$\nfollowers +on_end\ncreated /ms);
    const second = await create(queue, '--closed', '--on-end', `${queue}.after`);
    const [follower] = (await service.call('GET', `/jobs?queue=${queue}.after`)).body.jobs;
    expect(await ok(['history', follower.id])).toContain(`follows the batch ${second}`);
    const [headings, first, last] = (await ok(['batches', '--queue', queue])).split('\n');
    expect(headings).toMatch(/^ID +NAME +QUEUE +STATE +DONE +DEAD +AGE$/);
    expect(first).toMatch(new RegExp(`^${second} +${queue} +succeeded +0/0 +0 +\\d+ s ago$`));
    expect(last).toMatch(new RegExp(`^${id} +pages +${queue} +open +2/3 +1 +\\d+ s ago$`));
    expect(
      JSON.parse(await ok(['batches', '--queue', queue, '--state', 'open', '--json'])).batches,
    ).toMatchObject([{ id }]);
    expect(await ok(['batches', '--queue', queue, '--state', 'ended'])).toBe('No batches.');
    const pages = await dibs(['batches', '--queue', queue, '--limit', '1']);
    expect(pages.stderr).toContain('There is more');
    expect((await ok(['batches', '--queue', queue, '--all', '--json'])).split('\n')).toHaveLength(1);
  });

  test('--wait ends with 0 when all are completed, and --close lets it end', async () => {
    const queue = newQueue();
    const id = await create(queue);
    await ok(['enqueue', queue, '1', '--batch', id]);
    const waiting = dibs(['batch', id, '--wait']);
    await ack(queue);
    expect(await ok(['batch', id, '--close', '--wait', '--json'])).toMatch(/"state":"succeeded"/);
    const waited = await waiting;
    expect(waited).toMatchObject({
      status: 0,
      stderr: 'The batch is open: it ends only after it is closed.\n',
      stdout: expect.stringMatching(/^state +succeeded$.*^now +All of its jobs are finished/ms),
    });
    expect(await dibs(['batch', id, '--close'])).toMatchObject({ status: 1, stdout: '' });
    expect((await dibs(['batch', id, '--wait'])).stderr).toBe('');
  });

  test('the status is 1 when some are dead or cancelled, with --wait and without', async () => {
    const queue = newQueue();
    const id = await ok(['batch', 'create', queue, '--ndjson', '-', '--closed', '--on-success', queue], {
      stdin: '1\n',
    });
    const waiting = dibs(['batch', id, '--wait']);
    await dies(queue);
    expect(await waiting).toMatchObject({ status: 1, stdout: expect.stringMatching(/^state +ended$/m) });
    expect((await dibs(['batch', id])).status).toBe(1);
    expect(await ok(['batch', id, '--explain'])).toMatch(/1 of its jobs is dead.*\(jobs_dead\)$/);
    await ok(['redrive', queue]);
    await ack(queue);
    expect((await dibs(['batch', id, '--wait'])).status).toBe(0);
  });

  test('a wait survives a Dibs that is away for a moment', async () => {
    const queue = newQueue();
    const id = await ok(['batch', 'create', queue, '--ndjson', '-', '--closed'], { stdin: '1\n' });
    let looks = 0;
    const undo = aroundQueries(service, (statement, _, run) =>
      statement.text.includes('from dibs.batches b') && ++looks === 3 ? Promise.reject(unavailable()) : run(),
    );
    const waiting = dibs(['batch', id, '--wait']);
    try {
      await until(() => looks > 3, { what: 'a look after the failure' });
    } finally {
      undo();
    }
    await ack(queue);
    expect(await waiting).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('Trying again for 30 s.'),
    });
  });

  test('--cancel asks first, and says how many', async () => {
    const queue = newQueue();
    const id = await ok(
      ['batch', 'create', queue, '--name', 'x', '--ndjson', '-', '--on-end', `${queue}.after`],
      {
        stdin: '1\n2\n3\n',
      },
    );
    const leased = await claim(queue);
    const alone = await dibs(['batch', id, '--cancel']);
    expect(alone).toMatchObject({ status: 2, stdout: '' });
    expect(alone.stderr).toContain(
      'This cancels 2 waiting jobs of batch "x". Nothing follows its end. Nobody is here',
    );
    expect((await dibs(['batch', id, '--cancel'], { types: 'n\n' })).status).toBe(1);
    expect((await look(id)).counts).toMatchObject({ ready: 2, leased: 1 });
    const cancelled = await dibs(['batch', id, '--cancel', '--yes']);
    expect(cancelled).toMatchObject({ status: 0, stdout: expect.stringMatching(/^cancelled +2$/m) });
    await ok(['ack', leased.id, leased.lease_token]);
    expect(await ok(['batch', id, '--cancel', '--wait', '--yes'])).toMatch(/^state +ended$/m);
    expect((await service.call('GET', `/jobs?queue=${queue}.after`)).body.jobs).toEqual([]);
  });

  test.each<[string[], number, string]>([
    [['batch'], 2, "missing required argument 'id'"],
    [['batch', 'nonsense'], 1, '(batch_not_found)'],
    [['batch', UNKNOWN_ID, '--wait'], 1, '(batch_not_found)'],
    [['batch', UNKNOWN_ID, '--close'], 1, '(batch_not_found)'],
    [['batch', UNKNOWN_ID, '--cancel', '--yes'], 1, '(batch_not_found)'],
    [['batch', UNKNOWN_ID, '--explain'], 1, '(batch_not_found)'],
    [['batch', UNKNOWN_ID, '--explain', '--wait'], 2, '--explain only looks'],
    [['batch', UNKNOWN_ID, '--close', '--cancel'], 2, 'leave out --close'],
    [['batch', UNKNOWN_ID, UNKNOWN_ID], 2, 'unknown command'],
    [['batches', 'q'], 2, 'too many arguments'],
    [['batches', '--state', 'done'], 1, 'state must'],
    [['enqueue', 'q', '1', '--batch', UNKNOWN_ID], 1, '(batch_not_found)'],
    [['enqueue', 'q', '1', '--batch', ''], 1, 'batch'],
    [['jobs', '--batch', UNKNOWN_ID, '--group', 'g'], 1, 'group must not be sent together with batch'],
    [['schedules', 'put', 's', '--cron', '* * * * *', '--batch', UNKNOWN_ID], 2, "unknown option '--batch'"],
  ])('%j is refused with status %i', async (args, status, why) => {
    const ran = await dibs(args);
    expect(ran).toMatchObject({ status, stdout: '' });
    expect(ran.stderr).toContain(why);
  });

  test('a list without batches says which queue there is not', async () => {
    expect(await dibs(['batches', '--queue', 'nowhere'])).toEqual({
      status: 0,
      stdout: 'No batches.\n',
      stderr: 'There is no queue "nowhere".\n',
    });
  });

  test('a terminal sees a bar in one line, with the dead ones and the time that is left', async () => {
    const queue = newQueue();
    const id = await ok(['batch', 'create', queue, '--ndjson', '-', '--closed'], { stdin: '1\n'.repeat(4) });
    await dies(queue);
    const command = `exec ${process.execPath} dist/main.js batch ${id} --wait`;
    const { status, screen } = await onTerminal(command, { DIBS_URL: url }, async (seen) => {
      await until(() => seen().includes('Finished 25 % (1 of 4 jobs), 0 a second, 1 dead'), {
        what: 'a bar',
      });
      await ack(queue);
      await until(
        () =>
          /\[#{15}\.{15}\] Finished 50 % \(2 of 4 jobs\), \d+ a (second|minute), \d+ (s|min) to go, 1 dead/.test(
            seen(),
          ),
        {
          what: 'how long it takes',
        },
      );
      for (let i = 0; i < 2; i++) await ack(queue);
    });
    expect(status).toBe(1);
    const [bars, ...rest] = screen.split('\n');
    expect(bars?.trimEnd()).toMatch(/\[#{30}\] Finished 100 % \(4 of 4 jobs\), [^\r]*, 1 dead$/);
    expect(rest.join('\n')).toMatch(/ended/);
  });
});

test('bash completes the last batches', async () => {
  const id = await create(newQueue());
  expect((await ok(['completion', 'batches'])).split('\n')).toContain(id);
  const script = await ok(['completion', 'bash']);
  expect(script).toMatch(/\*:batch:show\) words=".*" takes=batches/);
  expect(script).toMatch(/\*:batch:\*\) words="show create .*" takes=batches/);
});
