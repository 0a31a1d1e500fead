import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { hourly } from '../support/schedules.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
let name: string;
let queue: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
beforeEach(() => {
  name = at.newQueue('s');
  queue = at.newQueue();
});
afterAll(() => service.stop());

const put = (body: unknown, as = name) => service.call('PUT', `/schedules/${as}`, body);
const yearly = '0 0 1 1 *';

test('a PUT is answered with the schedule and its next run', async () => {
  const answer = await put({
    cron: '30 6 * * MON-FRI',
    timezone: 'Europe/Berlin',
    job: { queue, priority: 5 },
  });
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    name,
    cron: '30 6 * * MON-FRI',
    timezone: 'Europe/Berlin',
    paused: false,
    job: { queue, priority: 5 },
    next_run_at: expect.stringMatching(/T0[45]:30:00\.000Z$/),
    last_run_at: null,
    last_error: null,
    retry_at: null,
  });
  expect(Date.parse(answer.body.next_run_at)).toBeGreaterThan(Date.now());
  expect(await at.ok('GET', `/schedules/${name}`)).toEqual(answer.body);
});

test('a field that is left out takes its default', async () => {
  await put({ cron: yearly, job: {} });
  expect(await at.ok('GET', `/schedules/${name}`)).toMatchObject({ timezone: 'UTC', paused: false, job: {} });
});

test('the payload comes back exactly as it was sent', async () => {
  const payload = '{"b":1.0, "a":[12345678901234567890,1e400],"a":"\\u0000 \\u00e9"}';
  for (const job of [
    `{"queue":"${queue}","payload": ${payload}}`,
    `{"payload":${payload} , "queue":"${queue}"}`,
  ]) {
    expect((await put(`{"cron":"${yearly}","job":${job}}`)).text).toContain(`"payload":${payload}}`);
    expect((await service.call('GET', `/schedules/${name}`)).text).toContain(`"payload":${payload}}`);
    expect((await service.call('GET', '/schedules?limit=1000')).text).toContain(`"payload":${payload}}`);
    const { id } = await at.ok('POST', `/schedules/${name}/trigger`);
    expect((await service.call('GET', `/jobs/${id}`)).text).toContain(`"payload":${payload},`);
  }
  for (const payload of ['null', '0', '""', '[]']) {
    await put(`{"cron":"${yearly}","job":{"payload":${payload}}}`);
    expect((await service.call('GET', `/schedules/${name}`)).text).toContain(`"job":{"payload":${payload}}`);
  }
});

test('a PUT replaces the whole schedule and computes its next run again', async () => {
  await put({
    cron: yearly,
    timezone: 'Asia/Tokyo',
    paused: true,
    job: { queue, payload: 1, headers: { a: 'b' } },
  });
  const { body } = await put({ cron: hourly(), job: { priority: 1 } });
  expect(body).toMatchObject({ timezone: 'UTC', paused: false });
  expect(body.job).toEqual({ priority: 1 });
  expect(Date.parse(body.next_run_at) - Date.now()).toBeLessThan(3_600_000);
});

test('a schedule that was read can be put back, and what it tells of its runs is ignored', async () => {
  const payload = '{"b":1.0, "a":"\\u00e9"}';
  for (const spec of [
    `{"cron":"${yearly}","timezone":"Asia/Tokyo","job":{"queue":"${queue}","payload":${payload}}}`,
    `{"cron":"${yearly}","paused":true,"job":{}}`,
  ]) {
    await put(spec);
    const { text, body } = await service.call('GET', `/schedules/${name}`);
    expect((await put(text)).text).toBe(text);
    const changed = await put({ ...body, name: 'other', next_run_at: null, last_run_at: body.next_run_at });
    expect(changed.body).toEqual(body);
  }
});

describe('a trigger enqueues the job of the schedule', () => {
  test('with every field that the schedule has, and is answered with its Location', async () => {
    const job = { queue, priority: 7, max_attempts: 3, headers: { tenant: 'a' }, payload: { to: 'ada' } };
    await put({ cron: yearly, job });
    const answer = await service.call('POST', `/schedules/${name}/trigger`);
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe(`/jobs/${answer.body.id}`);
    expect(await at.get(answer.body.id)).toMatchObject({ ...job, state: 'ready' });
    expect(await at.ok('GET', `/schedules/${name}`)).toMatchObject({ last_run_at: null });
  });

  test('also while the schedule is paused', async () => {
    await put({ cron: yearly, paused: true, job: { queue } });
    await at.ok('POST', `/schedules/${name}/trigger`);
    expect(await at.drain(queue)).toEqual([null]);
  });

  test('with its delay, which counts from the trigger', async () => {
    await put({ cron: yearly, job: { queue, delay_seconds: 1000 } });
    const job = await at.ok('POST', `/schedules/${name}/trigger`);
    expect(job.state).toBe('scheduled');
    expect(Date.parse(job.run_at) - Date.parse(job.created_at)).toBe(1_000_000);
  });

  test('with its own backoff', async () => {
    await put({ cron: yearly, job: { queue, backoff: { kind: 'constant', base_seconds: 900, jitter: 0 } } });
    await at.ok('POST', `/schedules/${name}/trigger`);
    const { body } = await at.settle('nack', await at.claimOne(queue));
    expect(Date.parse(body.run_at) - Date.now()).toBeGreaterThan(600_000);
  });
});

test('a deleted schedule is gone, and the jobs that it made stay', async () => {
  await put({ cron: yearly, job: { queue } });
  await at.ok('POST', `/schedules/${name}/trigger`);
  const answer = await service.call('DELETE', `/schedules/${name}`);
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
  expectProblem(await service.call('GET', `/schedules/${name}`), 404, 'schedule_not_found');
  expect(await at.drain(queue)).toEqual([null]);
});

test('an unknown schedule is 404 schedule_not_found', async () => {
  expectProblem(await service.call('GET', `/schedules/${name}`), 404, 'schedule_not_found');
  expectProblem(await service.call('DELETE', `/schedules/${name}`), 404, 'schedule_not_found');
  expectProblem(await service.call('POST', `/schedules/${name}/trigger`), 404, 'schedule_not_found');
});

describe('schedules are listed', () => {
  test('by name, in pages', async () => {
    const other = await startService();
    const names = ['a', 'b', 'c', 'd', 'e'];
    for (const each of [...names].reverse())
      await other.call('PUT', `/schedules/${each}`, { cron: yearly, job: {} });
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await other.call('GET', `/schedules?limit=2${cursor}`);
      seen.push(...body.schedules.map((schedule: { name: string }) => schedule.name));
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(names);
    const [first] = (await other.call('GET', '/schedules?limit=1')).body.schedules;
    expect(first).toEqual((await other.call('GET', '/schedules/a')).body);
    await other.stop();
  });

  test('and refuse cursors of other lists, and unknown parameters', async () => {
    await at.enqueueAll([{ queue }, { queue: at.newQueue() }]);
    const { next_cursor } = await at.ok('GET', '/queues?limit=1');
    for (const cursor of [next_cursor, 'x', ''])
      expectProblem(
        await service.call('GET', `/schedules?cursor=${cursor}`),
        400,
        'invalid_request',
        '/cursor',
      );
    expectProblem(await service.call('GET', '/schedules?limit=0'), 400, 'invalid_request', '/limit');
    expectProblem(await service.call('GET', '/schedules?state=x'), 400, 'invalid_request', '/state');
  });
});

describe('a refusal names the wrong field:', () => {
  test.each([
    [{ job: {} }, '/cron'],
    [{ cron: yearly }, '/job'],
    [{ cron: 5, job: {} }, '/cron'],
    [{ cron: '', job: {} }, '/cron'],
    [{ cron: '* * * *', job: {} }, '/cron'],
    [{ cron: '@daily', job: {} }, '/cron'],
    [{ cron: '61 * * * *', job: {} }, '/cron'],
    [{ cron: `0 0 ${'1,'.repeat(130)}1 * *`, job: {} }, '/cron'],
    [{ cron: '0 0 30 2 *', job: {} }, '/cron'],
    [{ cron: yearly, timezone: 'Mars/Olympus', job: {} }, '/timezone'],
    [{ cron: yearly, timezone: '+02:00', job: {} }, '/timezone'],
    [{ cron: yearly, timezone: null, job: {} }, '/timezone'],
    [{ cron: yearly, paused: 'no', job: {} }, '/paused'],
    [{ cron: yearly, job: null }, '/job'],
    [{ cron: yearly, job: [] }, '/job'],
    [{ cron: yearly, job: { queue: 'a b' } }, '/job/queue'],
    [{ cron: yearly, job: { priority: 101 } }, '/job/priority'],
    [{ cron: yearly, job: { nonsense: 1 } }, '/job/nonsense'],
    [{ cron: yearly, job: { backoff: { jitter: 2 } } }, '/job/backoff/jitter'],
    [{ cron: yearly, job: { run_at: '2027-01-01T00:00:00Z' } }, '/job/run_at'],
    [{ cron: yearly, job: {}, created_at: null }, '/created_at'],
    [{ cron: yearly, job: {}, name: 'a b' }, '/name'],
    [{ cron: yearly, job: {}, next_run_at: 'soon' }, '/next_run_at'],
    [{ cron: yearly, job: {}, last_run_at: 5 }, '/last_run_at'],
    [[], ''],
  ])('%j', async (body, field) => {
    const answer = await put(body);
    expectProblem(answer, 400, 'invalid_request', field);
    expect(answer.body.errors[0].in).toBe('body');
    expectProblem(await service.call('GET', `/schedules/${name}`), 404, 'schedule_not_found');
  });

  test('a malformed name in the path', async () => {
    for (const bad of ['a%20b', 'x'.repeat(129), '%C3%A9', 'a%2Fb'])
      for (const [method, path, body] of [
        ['GET', bad],
        ['PUT', bad, { cron: yearly, job: {} }],
        ['DELETE', bad],
        ['POST', `${bad}/trigger`],
      ] as const) {
        const answer = await service.call(method, `/schedules/${path}`, body);
        expectProblem(answer, 400, 'invalid_request', '/name');
        expect(answer.body.errors[0].in).toBe('path');
      }
    expect((await put({ cron: yearly, job: {} }, 'x'.repeat(128))).status).toBe(200);
  });

  test('a payload that is too large', async () => {
    const answer = await put({ cron: yearly, job: { payload: 'x'.repeat(2 ** 20) } });
    expectProblem(answer, 413, 'payload_too_large', '/job/payload');
  });

  test('a PUT that is refused changes nothing', async () => {
    const { body } = await put({ cron: yearly, job: { queue } });
    expectProblem(await put({ cron: '0 0 30 2 *', job: {} }), 400, 'invalid_request', '/cron');
    expect(await at.ok('GET', `/schedules/${name}`)).toEqual(body);
  });
});

test('other methods are 405', async () => {
  const answer = await service.call('POST', `/schedules/${name}`, {});
  expectProblem(answer, 405, 'method_not_allowed');
  expect(answer.headers.allow).toBe('DELETE, GET, HEAD, PUT');
});
