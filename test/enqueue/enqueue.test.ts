import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const refused = async (job: unknown, field: string) =>
  expectProblem(await service.call('POST', '/jobs', job), 400, 'invalid_request', field);

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

describe('POST /jobs', () => {
  test('an enqueue is answered with 201, the job without its payload, and its Location', async () => {
    const answer = await service.call('POST', '/jobs', {
      queue: 'mail',
      payload: { to: 'ada' },
      priority: 5,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe(`/jobs/${answer.body.id}`);
    expect(answer.body).toMatchObject({
      queue: 'mail',
      state: 'ready',
      priority: 5,
      attempt: 0,
      max_attempts: 5,
    });
    expect(answer.body).not.toHaveProperty('payload');
    const found = await service.call('GET', answer.headers.location as string);
    expect(found.body).toMatchObject({ ...answer.body, payload: { to: 'ada' } });
  });

  test('a field that is left out takes its default, and the answer has every field of a job', async () => {
    const { id, run_at, created_at, ...rest } = await at.enqueue({});
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(run_at).toBe(created_at);
    expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect(rest).toEqual({
      queue: 'default',
      state: 'ready',
      headers: {},
      priority: 0,
      attempt: 0,
      max_attempts: 5,
      deliveries: 0,
      group: null,
      fairness_key: null,
      unique_key: null,
      batch: null,
      lease_expires_at: null,
      worker: null,
      last_error: null,
      progress: null,
      result: null,
      finished_at: null,
    });
    expect((await at.get(id)).payload).toBe(null);
  });

  test('headers come back as they were sent, also with odd names', async () => {
    const headers =
      '{"__proto__":"a","traceparent":"00-4b","constructor":"","ünï":"\\ud83d\\ude00\\n","":"x"}';
    const { id } = (await service.call('POST', '/jobs', `{"queue":"headers","headers":${headers}}`)).body;
    expect((await at.get(id)).headers).toEqual(JSON.parse(headers));
    expect((await at.claimOne('headers')).headers).toEqual(JSON.parse(headers));
  });

  test('values at their limits are accepted, and values beyond them are refused', async () => {
    const most = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`h${i}`, '']));
    for (const job of [
      { priority: 100 },
      { priority: -100 },
      { max_attempts: 1000 },
      { delay_seconds: 366 * 86_400 },
      { run_at: inDays(365.9) },
      { queue: `A.z_0:-${'q'.repeat(121)}` },
      { headers: { [`${'n'.repeat(128)}`]: '😀'.repeat(1024) } },
      { headers: most },
      { backoff: { kind: 'linear', base_seconds: 0, max_seconds: 366 * 86_400, jitter: 1 } },
    ])
      await at.enqueue(job);
    for (const [job, field] of [
      [{ priority: 101 }, '/priority'],
      [{ priority: -101 }, '/priority'],
      [{ max_attempts: 1001 }, '/max_attempts'],
      [{ max_attempts: 0 }, '/max_attempts'],
      [{ delay_seconds: 366 * 86_400 + 1 }, '/delay_seconds'],
      [{ delay_seconds: -0.001 }, '/delay_seconds'],
      [{ run_at: inDays(366.1) }, '/run_at'],
      [{ queue: 'q'.repeat(129) }, '/queue'],
      [{ queue: '' }, '/queue'],
      [{ queue: 'a b' }, '/queue'],
      [{ queue: 'a\n' }, '/queue'],
      [{ headers: { ['n'.repeat(129)]: '' } }, `/headers/${'n'.repeat(129)}`],
      [{ headers: { n: 'v'.repeat(1025) } }, '/headers/n'],
      [{ headers: { ...most, more: '' } }, '/headers'],
      [{ headers: { 'a/b~c': 1 } }, '/headers/a~1b~0c'],
      [{ backoff: { jitter: 1.1 } }, '/backoff/jitter'],
      [{ backoff: { kind: 'fibonacci' } }, '/backoff/kind'],
      [{ backoff: { base_seconds: -1 } }, '/backoff/base_seconds'],
    ] as const)
      await refused(job, field);
  });

  test('unknown fields are refused, at every depth', async () => {
    await refused({ queue: 'q', colour: 'red' }, '/colour');
    await refused({ backoff: { base: 1 } }, '/backoff/base');
    await refused('{"__proto__": {"queue":"q"}}', '/__proto__');
    await refused({ lease_token: 'x' }, '/lease_token');
  });

  test('types are never coerced', async () => {
    for (const [field, values] of Object.entries({
      queue: [1, true, [], {}],
      priority: ['1', true, 1.5, [1]],
      max_attempts: ['3', 2.5, true],
      delay_seconds: ['1', true, {}],
      run_at: [0, 1_790_000_000, true],
      headers: ['a', [], 1],
      backoff: ['linear', [], 1],
    }))
      for (const value of values) await refused({ [field]: value }, `/${field}`);
    await refused({ headers: { tenant: 7 } }, '/headers/tenant');
    await refused([], '');
    await refused('"job"', '');
    await refused('null', '');
  });

  test('null does not mean "left out", except as a payload', async () => {
    for (const field of [
      'queue',
      'headers',
      'priority',
      'delay_seconds',
      'run_at',
      'max_attempts',
      'backoff',
    ])
      await refused({ [field]: null }, `/${field}`);
    await at.enqueue({ payload: null });
  });

  test('a job without max_attempts gets the max_attempts of its queue', async () => {
    const queue = at.newQueue();
    await at.configure(queue, { max_attempts: 9 });
    expect((await at.enqueue({ queue })).max_attempts).toBe(9);
    expect((await at.enqueue({ queue, max_attempts: 2 })).max_attempts).toBe(2);
  });
});
