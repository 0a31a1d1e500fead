import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { as, speakingAccess } from '../support/access.ts';
import { openTransaction } from '../support/beside.ts';
import { eventually, expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf, onAll } from '../support/severalDatabases.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
let queue: string;
let letters: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(async () => {
  queue = at.newQueue();
  letters = `${queue}.dead`;
  await at.configure(queue, { dead_letter_queue: letters });
});
afterAll(() => service.stop());

const ODD = '{"b":1.0,"a":12345678901234567890,"a":"\\u0000"}';

const lettersOf = async (name = letters): Promise<Json[]> =>
  (await at.ok('GET', `/jobs?queue=${name}&include=payload&order=oldest`)).jobs;
const countsOf = async (name: string) => (await at.ok('GET', `/queues/${name}`)).counts;
const configured = (name: string, config: object) => service.call('PUT', `/queues/${name}`, config);

/** Enqueues a job and has its worker give it up. */
async function dies(job: object = {}, error = 'boom') {
  const { id } = await at.enqueue({ queue, ...job });
  const leased = await at.claimOne(queue);
  const answer = await at.settle('nack', leased, { error, retry: false });
  expect(answer.body).toMatchObject({ id, state: 'dead' });
  return leased;
}

describe('a job that becomes dead goes to the dead letter queue, as a new job', () => {
  test('with its payload exactly as it was sent', async () => {
    await at.ok('POST', '/jobs', `{"queue":"${queue}","payload":${ODD}}`);
    await at.settle('nack', await at.claimOne(queue), { retry: false });
    const { text } = await service.call('GET', `/jobs?queue=${letters}&include=payload`);
    expect(text).toContain(`"payload":${ODD},`);
  });

  test('with headers that PostgreSQL cannot read, there and back', async () => {
    await at.configure(letters, { dead_letter_queue: `${queue}.end` });
    const headers = '{"tenant":"a \\"b\\"","odd":"\\ud800"}';
    await at.ok('POST', '/jobs', `{"queue":"${queue}","headers":${headers}}`);
    for (const name of [queue, letters])
      await at.settle('nack', await at.claimOne(name), { error: `of "${name}"`, retry: false });
    const [letter] = await lettersOf(`${queue}.end`);
    const odd = { tenant: 'a "b"', odd: '\ud800' };
    expect(letter.headers).toEqual({
      ...odd,
      'dibs-dead-from': letters,
      'dibs-dead-error': `of "${letters}"`,
    });
    const back = { home: true, error_contains: letters };
    expect((await at.ok('POST', `/queues/${queue}.end/redrive`, back)).count).toBe(1);
    expect((await at.claimOne(letters)).headers).toEqual(odd);
  });

  test.each([
    ['first', { 'dibs-dead-from': 'x', odd: '\ud800' }],
    ['last', { odd: '\ud800', 'dibs-dead-from': 'x' }],
    ['alone', { 'dibs-dead-from': '\ud800' }],
    ['twice', { 'dibs-dead-error': '\ud800', 'dibs-dead-from': 'x' }],
    [
      'and in other names',
      { 'a"dibs-dead-from': '\ud800', '","dibs-dead-from': ':"x', 'dibs-dead-from\\': '"}' },
    ],
  ])(
    'with headers that PostgreSQL cannot read and those of a dead letter among them: %s',
    async (_, headers) => {
      await dies({ headers }, 'of "it"');
      const [letter] = await lettersOf();
      const {
        'dibs-dead-from': from,
        'dibs-dead-error': error,
        ...others
      } = headers as Record<string, string>;
      expect(letter.headers).toEqual({ ...others, 'dibs-dead-from': queue, 'dibs-dead-error': 'of "it"' });
      expect((await at.ok('POST', `/queues/${letters}/redrive`, { home: true })).count).toBe(1);
      expect((await at.claimOne(queue)).headers).toEqual(others);
    },
  );

  test('after a nack without a retry', async () => {
    const { id } = await dies({
      payload: { to: 'ada' },
      priority: 7,
      headers: { tenant: 'a' },
      max_attempts: 3,
    });
    const [letter, ...more] = await lettersOf();
    expect(more).toEqual([]);
    expect(letter).toMatchObject({
      state: 'ready',
      queue: letters,
      payload: { to: 'ada' },
      priority: 7,
      headers: { tenant: 'a', 'dibs-dead-from': queue, 'dibs-dead-error': 'boom' },
      attempt: 0,
      deliveries: 0,
      max_attempts: 3,
      unique_key: null,
      last_error: null,
    });
    expect(letter.id).not.toBe(id);
    expect((await at.claimOne(letters)).payload).toEqual({ to: 'ada' });
  });

  test('when its attempts are used up', async () => {
    await at.enqueue({ queue, max_attempts: 1 });
    await at.settle('nack', await at.claimOne(queue), { error: 'once' });
    expect(await lettersOf()).toMatchObject([{ headers: { 'dibs-dead-error': 'once' } }]);
  });

  test('when its last lease runs out', async () => {
    const { id } = await at.enqueue({ queue, max_attempts: 1 });
    const leased = await at.claimOne(queue, { lease_seconds: 0.1 });
    await expect
      .poll(async () => (await lettersOf()).map(({ headers }) => headers), { timeout: 60_000 })
      .toEqual([{ 'dibs-dead-from': queue, 'dibs-dead-error': 'lease expired' }]);
    expectProblem(await at.settle('ack', leased), 404, 'job_not_found');
    expect((await service.call('GET', `/jobs/${id}`)).status).toBe(404);
  });

  test('when it expires', async () => {
    await at.enqueue({ queue, expires_in_seconds: 0.1 });
    await expect
      .poll(async () => (await lettersOf()).map(({ headers }) => headers['dibs-dead-error']), {
        timeout: 60_000,
      })
      .toEqual(['expired']);
  });

  test('many at once: none is lost, none comes twice', async () => {
    await at.enqueueAll(Array.from({ length: 500 }, (_, payload) => ({ queue, payload })));
    const leased = await at.claim(queue, { limit: 500 });
    const nacks = leased.map(({ id, lease_token }) => ({ id, lease_token, retry: false }));
    await at.ok('POST', '/jobs/settle', { nacks });
    expect(((await at.drain(letters)) as number[]).sort((a, b) => a - b)).toEqual([...Array(500).keys()]);
    expect(await countsOf(queue)).toMatchObject({ dead: 0, cancelled: 0, leased: 0 });
  });

  test('the header has the first 1024 characters of the error', async () => {
    await dies({}, 'é'.repeat(3000));
    expect((await lettersOf())[0].headers['dibs-dead-error']).toBe('é'.repeat(1024));
  });

  test('a claim that waits for the dead letter queue is woken', async () => {
    const waiting = at.claim(letters, { wait_seconds: 20 });
    await dies({ payload: 5 });
    expect((await waiting).map(({ payload }) => payload)).toEqual([5]);
  });

  test('groups go on in both queues, each in its order, and fairness keys stay', async () => {
    const job = { queue, group: 'g', fairness_key: 'f' };
    await at.enqueueAll([1, 2, 3].map((payload) => ({ ...job, payload })));
    for (const payload of [1, 2]) {
      const leased = await at.claimOne(queue, { wait_seconds: 10 });
      expect(leased.payload).toBe(payload);
      await at.settle('nack', leased, { retry: false });
    }
    expect((await at.claimOne(queue, { wait_seconds: 10 })).payload).toBe(3);
    for (const payload of [1, 2]) {
      const letter = await at.claimOne(letters, { wait_seconds: 10 });
      expect(letter).toMatchObject({ payload, group: 'g', fairness_key: 'f' });
      await at.settle('ack', letter);
    }
  });

  test('a full dead letter queue takes it', async () => {
    await at.configure(letters, { max_ready: 1 });
    for (let i = 0; i < 3; i++) await dies();
    expect(await countsOf(letters)).toMatchObject({ ready: 3 });
  });

  test('two dead jobs of one unique key are two jobs there, and the key is free', async () => {
    for (let i = 0; i < 2; i++) await dies({ unique_key: 'k', payload: i });
    expect(await at.drain(letters)).toEqual([0, 1]);
  });

  test('a duplicate within the window of its key is told that it is dead', async () => {
    await dies({ unique_key: 'k', unique_for_seconds: 1000 });
    expect(await at.enqueue({ queue, unique_key: 'k' })).toMatchObject({ deduplicated: true, state: 'dead' });
  });

  test.each([
    ['its retention is over', { retention_seconds: 0.1 }, undefined],
    ['it was purged', { retention_seconds: 1000 }, { states: ['cancelled'] }],
  ])('also when %s', async (_, config, purged) => {
    await at.configure(queue, { dead_letter_queue: letters, ...config });
    const { id } = await dies({ unique_key: 'k', unique_for_seconds: 1000 });
    if (purged) await at.ok('POST', `/queues/${queue}/purge`, purged);
    await eventually(async () => expect((await service.call('GET', `/jobs/${id}`)).status).toBe(404));
    expect(await at.enqueue({ queue, unique_key: 'k' })).toMatchObject({ deduplicated: true, state: 'dead' });
  });

  test('the follow-ups of the nack are enqueued', async () => {
    await at.enqueue({ queue });
    const leased = await at.claimOne(queue);
    const answer = await at.settle('nack', leased, { retry: false, enqueue: [{ queue: `${queue}.next` }] });
    expect(answer.body).toMatchObject({ state: 'dead', enqueued: [{ state: 'ready' }] });
    expect(await lettersOf()).toHaveLength(1);
  });

  test('from there it goes on to the next one', async () => {
    await at.configure(letters, { dead_letter_queue: `${queue}.end` });
    await dies({ headers: { tenant: 'a' } });
    await at.settle('nack', await at.claimOne(letters), { error: 'again', retry: false });
    const headers = { tenant: 'a', 'dibs-dead-from': letters, 'dibs-dead-error': 'again' };
    expect(await lettersOf(`${queue}.end`)).toMatchObject([{ headers }]);
  });
});

describe('the old job', () => {
  test('answers with moved_to while retention_seconds last, and a late settlement of it is 409', async () => {
    await at.configure(queue, { dead_letter_queue: letters, retention_seconds: 1000 });
    const leased = await dies({ payload: 1 });
    const [letter] = await lettersOf();
    expect(await at.get(leased.id)).toMatchObject({
      state: 'cancelled',
      moved_to: letter.id,
      last_error: 'boom',
      payload: 1,
    });
    for (const verb of ['ack', 'nack', 'release', 'extend'] as const)
      expectProblem(
        await at.settle(verb, leased, verb === 'extend' ? { lease_seconds: 5 } : {}),
        409,
        'lease_lost',
      );
    expectProblem(await service.call('POST', `/jobs/${leased.id}/retry`), 409, 'job_finished');
    expect((await at.ok('GET', `/jobs/${leased.id}/explain`)).detail).toContain(letter.id);
    expect((await at.ok('GET', `/jobs/${leased.id}/history`)).events.at(-1)).toMatchObject({ event: 'dead' });
    expect((await at.ok('POST', `/queues/${queue}/redrive`)).count).toBe(0);
    expect(await countsOf(queue)).toMatchObject({ dead: 0, cancelled: 1 });
  });

  test('a late ack of a job whose last lease ran out is 409', async () => {
    await at.configure(queue, { dead_letter_queue: letters, retention_seconds: 1000 });
    const { id } = await at.enqueue({ queue, max_attempts: 1 });
    const leased = await at.claimOne(queue, { lease_seconds: 0.1 });
    await at.reaches(id, 'cancelled');
    expectProblem(await at.settle('ack', leased), 409, 'lease_lost');
    expect(await lettersOf()).toHaveLength(1);
  });

  test('is gone at once where nothing is kept', async () => {
    const { id } = await dies();
    expect((await service.call('GET', `/jobs/${id}`)).status).toBe(404);
  });

  test('a client that waits for its end is told', async () => {
    const { id } = await at.enqueue({ queue });
    const waiting = service.call('GET', `/jobs/${id}?wait_seconds=30`);
    const leased = await at.claimOne(queue);
    const awaited = () =>
      onAll(service.databaseUrl, 'select from dibs.jobs where id = $1 and awaited_until is not null', [id]);
    await expect.poll(async () => (await awaited()).length).toBe(1);
    await at.settle('nack', leased, { retry: false });
    const { status, body } = await waiting;
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { state: 'cancelled', moved_to: expect.any(String) },
    });
  });
});

describe('where there is no dead letter queue, jobs stay dead', () => {
  test('when none is set', async () => {
    await at.configure(queue, {});
    const { id } = await dies();
    expect(await at.get(id)).toMatchObject({ state: 'dead' });
    expect(await at.get(id)).not.toHaveProperty('moved_to');
  });

  test('when it was deleted', async () => {
    await at.ok('DELETE', `/queues/${letters}`);
    const { id } = await dies();
    expect(await at.get(id)).toMatchObject({ state: 'dead' });
  });

  test('jobs that were dead before it was set stay', async () => {
    await at.configure(queue, {});
    const { id } = await dies();
    await at.configure(queue, { dead_letter_queue: letters });
    await dies();
    expect(await at.get(id)).toMatchObject({ state: 'dead' });
    expect(await lettersOf()).toHaveLength(1);
  });
});

describe('the configuration', () => {
  test('tells the dead letter queue, and makes it', async () => {
    expect((await at.ok('GET', `/queues/${queue}`)).config.dead_letter_queue).toBe(letters);
    expect((await at.ok('GET', `/queues/${letters}`)).config).not.toHaveProperty('dead_letter_queue');
    await at.configure(queue, {});
    expect((await at.ok('GET', `/queues/${queue}`)).config).not.toHaveProperty('dead_letter_queue');
  });

  test('a circle is refused, of one queue, of two and of three', async () => {
    const [a, b, c] = [queue, letters, `${queue}.c`];
    for (const [from, to] of [
      [a, a],
      [b, a],
    ])
      expectProblem(
        await configured(from as string, { dead_letter_queue: to }),
        400,
        'invalid_request',
        '/dead_letter_queue',
      );
    await at.configure(b, { dead_letter_queue: c });
    expectProblem(
      await configured(c, { dead_letter_queue: a }),
      400,
      'invalid_request',
      '/dead_letter_queue',
    );
    expect((await configured(c, { dead_letter_queue: a })).body.errors[0].message).toContain(
      `${c} → ${a} → ${b} → ${c}`,
    );
    expect((await at.ok('GET', `/queues/${c}`)).config).not.toHaveProperty('dead_letter_queue');
  });

  test('a refused circle makes no queue', async () => {
    const own = `${queue}.own`;
    const refused = async (dead_letter_queue: string) => {
      expectProblem(
        await configured(own, { dead_letter_queue }),
        400,
        'invalid_request',
        '/dead_letter_queue',
      );
      expectProblem(await service.call('GET', `/queues/${own}`), 404, 'queue_not_found');
    };
    await refused(own);
    await at.configure(letters, { dead_letter_queue: own });
    await service.call('DELETE', `/queues/${own}`);
    await refused(letters);
  });

  test('of two that would make a circle together, one is refused', async () => {
    for (let i = 0; i < 10; i++) {
      const [a, b] = [`${queue}.a${i}`, `${queue}.b${i}`];
      const answers = await Promise.all([
        configured(a, { dead_letter_queue: b }),
        configured(b, { dead_letter_queue: a }),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 400]);
    }
  });

  test('a name that no queue can have is 400', async () => {
    for (const name of ['', 'a b', 5, null])
      expectProblem(
        await configured(queue, { dead_letter_queue: name }),
        400,
        'invalid_request',
        '/dead_letter_queue',
      );
  });
});

describe('a redrive with home', () => {
  const home = (body: object = {}) => at.ok('POST', `/queues/${letters}/redrive`, { home: true, ...body });

  test('sends dead letters back to where they came from, as they were, with all of their attempts', async () => {
    const other = at.queueBeside(queue);
    await at.configure(other, { dead_letter_queue: letters });
    await dies({ payload: 1, headers: { tenant: 'a' }, priority: 3, max_attempts: 4 });
    await at.enqueue({ queue: other, payload: 2 });
    await at.settle('nack', await at.claimOne(other), { retry: false });
    const own = await at.enqueue({ queue: letters, payload: 'its own' });
    expect((await home()).count).toBe(2);
    expect(await at.claimOne(queue)).toMatchObject({
      payload: 1,
      headers: { tenant: 'a' },
      priority: 3,
      attempt: 1,
      max_attempts: 4,
    });
    expect((await at.claimOne(other)).payload).toBe(2);
    expect((await lettersOf()).map(({ id }) => id)).toEqual([own.id]);
  });

  test('waits for who has locked the queue to which they go', async () => {
    await dies({ payload: 1 });
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query('select from dibs.queues where name = $1 for update', [queue]);
    const sent = home();
    await sleep(1000);
    await user.end('commit');
    expect((await sent).count).toBe(1);
  });

  test('takes those that wait, are delayed or are dead, and leaves those that somebody works on', async () => {
    for (let payload = 0; payload < 4; payload++) await dies({ payload });
    const [leased, delayed, dead] = await at.claim(letters, { limit: 3 });
    await at.settle('nack', delayed, { delay_seconds: 1000 });
    await at.settle('nack', dead, { retry: false });
    expect((await home()).count).toBe(3);
    expect(((await at.drain(queue)) as number[]).sort()).toEqual([1, 2, 3]);
    expect((await at.settle('ack', leased)).status).toBe(200);
  });

  test('goes by its limit and by the error, oldest first', async () => {
    for (const [payload, error] of ['red 1', 'blue', 'red 2', 'red 3'].entries())
      await dies({ payload }, error);
    expect((await home({ error_contains: 'red', limit: 2 })).count).toBe(2);
    expect(await at.drain(queue)).toEqual([0, 2]);
    expect((await home({ error_contains: 'purple' })).count).toBe(0);
    expect((await home()).count).toBe(2);
  });

  test('groups go on in both queues', async () => {
    for (let payload = 0; payload < 3; payload++) {
      await at.enqueue({ queue, group: 'g', payload });
      await at.settle('nack', await at.claimOne(queue, { wait_seconds: 10 }), { retry: false });
    }
    await at.enqueue({ queue: letters, group: 'g', payload: 'its own' });
    expect((await home()).count).toBe(3);
    expect((await at.claimOne(letters, { wait_seconds: 10 })).payload).toBe('its own');
    for (let payload = 0; payload < 3; payload++) {
      const job = await at.claimOne(queue, { wait_seconds: 10 });
      expect(job.payload).toBe(payload);
      await at.settle('ack', job);
    }
  });

  test('leaves letters whose queue is gone', async () => {
    await dies();
    await at.ok('DELETE', `/queues/${queue}`);
    expect((await home()).count).toBe(0);
    expect(await lettersOf()).toHaveLength(1);
  });

  test('goes only to queues that send their dead jobs here now, whatever a header says', async () => {
    const other = at.queueBeside(queue);
    await at.configure(other, { dead_letter_queue: `${queue}.other` });
    for (const from of [other, letters, queue])
      await at.enqueue({ queue: letters, payload: from, headers: { 'dibs-dead-from': from } });
    await at.configure(queue, {});
    expect((await home()).count).toBe(0);
    await at.configure(queue, { dead_letter_queue: letters });
    expect((await home()).count).toBe(1);
    expect(await at.drain(queue)).toEqual([queue]);
    expect(await at.drain(letters)).toEqual([other, letters]);
  });

  describe('leaves letters whose unique_key is held there, and sends all others', () => {
    /** A letter with a key: those of dead jobs have none. */
    const keyed = (unique_key: string, payload: unknown, from = queue) =>
      at.enqueue({ queue: letters, unique_key, payload, headers: { 'dibs-dead-from': from } });
    const diesThere = async () => at.settle('nack', await at.claimOne(letters), { retry: false });

    test('by another job, by a window, or by a transaction that is open', async () => {
      await keyed('of a job', 1);
      await keyed('of a window', 2);
      await keyed('of a transaction', 3);
      await at.enqueue({ queue, unique_key: 'of a job', delay_seconds: 600 });
      await at.enqueue({ queue, unique_key: 'of a window', unique_for_seconds: 600 });
      await at.settle('ack', await at.claimOne(queue));
      const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
      await user.query(`select dibs.enqueue($1, unique_key => 'of a transaction')`, [queue]);
      await keyed('free', 4);
      await dies({ payload: 5 });
      expect((await home({ limit: 1 })).count).toBe(1);
      expect((await home()).count).toBe(1);
      expect((await home()).count).toBe(0);
      expect(await at.drain(queue)).toEqual([4, 5]);
      await user.end('rollback');
      expect((await home()).count).toBe(1);
      expect(await at.drain(queue)).toEqual([3]);
      expect((await lettersOf()).map(({ payload }) => payload)).toEqual([1, 2]);
    });

    test('of two of one key the first goes, and of two queues both', async () => {
      const other = at.queueBeside(queue);
      await at.configure(other, { dead_letter_queue: letters });
      await keyed('k', 1);
      await diesThere();
      await keyed('k', 2, other);
      await diesThere();
      await keyed('k', 3);
      expect((await home()).count).toBe(2);
      expect(await at.drain([queue, other])).toEqual([1, 2]);
      expect((await lettersOf()).map(({ payload }) => payload)).toEqual([3]);
    });
  });

  test('many go back: none is lost, none comes twice', async () => {
    await at.enqueueAll(Array.from({ length: 1000 }, (_, payload) => ({ queue, payload })));
    const leased = await at.claim(queue, { limit: 1000 });
    await at.ok('POST', '/jobs/settle', {
      nacks: leased.map(({ id, lease_token }) => ({ id, lease_token, retry: false })),
    });
    const counts = await Promise.all([home(), home()]);
    expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(1000);
    expect(((await at.drain(queue)) as number[]).sort((a, b) => a - b)).toEqual([...Array(1000).keys()]);
    expect(await countsOf(letters)).toMatchObject({ ready: 0 });
  });
});

describe('with access keys', () => {
  let guarded: Service;
  beforeAll(async () => {
    guarded = await startService({ access: speakingAccess() });
  });
  afterAll(() => guarded.stop());

  test('a queue sends its dead jobs only where its admin is one, too', async () => {
    const call = as(guarded, 'admin@mail.*');
    const put = (dead_letter_queue: string) => call('PUT', '/queues/mail.new', { dead_letter_queue });
    expectProblem(await put('vault'), 403, 'forbidden');
    expect((await put('mail.dead')).status).toBe(200);
  });

  test('letters of queues that are not the caller’s stay', async () => {
    const root = as(guarded, 'all@*');
    const names = ['post.new', 'post.old'];
    for (const name of names) {
      await root('PUT', `/queues/${name}`, { dead_letter_queue: 'post.dead' });
      await root('POST', '/jobs', { queue: name });
      const [job] = (await root('POST', '/jobs/claim', { queues: [name] })).body.jobs;
      await root('POST', `/jobs/${job.id}/nack`, { lease_token: job.lease_token, retry: false });
    }
    const redrive = (key: string) => as(guarded, key)('POST', '/queues/post.dead/redrive', { home: true });
    expectProblem(await redrive('admin@post.new'), 403, 'forbidden');
    expect((await redrive('admin@post.dead,post.new')).body).toEqual({ count: 1 });
    expect((await redrive('admin@*')).body).toEqual({ count: 1 });
  });
});
