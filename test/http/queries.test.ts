import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID } from '../support/moves.ts';
import { OPERATIONS, requestOf, withQuery } from '../support/operations.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

async function refused(path: string, field: string): Promise<void> {
  const answer = await service.call('GET', path);
  expectProblem(answer, 400, 'invalid_request', field);
  expect(answer.body.errors[0].in, path).toBe('query');
}

describe('a query', () => {
  test('has whole numbers in decimal digits and nothing else', async () => {
    for (const limit of [
      '0x10',
      '1e1',
      '1.0',
      '0b1',
      '+1',
      '%2B1',
      '%201',
      '1%20',
      '1_0',
      '1n',
      'NaN',
      '٣',
      '%D9%A3',
    ])
      for (const list of ['jobs', 'queues', 'schedules'])
        await refused(`/${list}?limit=${encodeURI(decodeURI(limit))}`, '/limit');
    for (const limit of ['1', '010', '1000'])
      expect((await service.call('GET', `/jobs?limit=${limit}`)).status).toBe(200);
  });

  test('has fractional numbers in decimal digits and nothing else', async () => {
    const job = `/jobs/${UNKNOWN_ID}`;
    for (const seconds of ['0x1', '1e0', '.5', '1.', 'Infinity', '%201', '-0.5', '60.1', '9'.repeat(400)])
      await refused(`${job}?wait_seconds=${seconds}`, '/wait_seconds');
    for (const seconds of ['0', '0.1', '00.10'])
      expectProblem(await service.call('GET', `${job}?wait_seconds=${seconds}`), 404, 'job_not_found');
  });

  test('is percent-encoded UTF-8', async () => {
    for (const bad of ['%ff', '%zz', '%', '%e0%a4', 'a%C3', '%ED%A0%80']) {
      await refused(`/jobs?group=${bad}`, '/group');
      await refused(`/jobs?limit=5&unique_key=${bad}&group=x`, '/unique_key');
      await refused(`/jobs?${bad}=1`, '');
      await refused(`/queues?cursor=${bad}`, '/cursor');
    }
    expect((await service.call('GET', '/jobs?group=%C3%A9%25')).status).toBe(200);
  });

  test('with a parameter that is given twice is told so', async () => {
    for (const [query, field] of [
      ['limit=1&limit=2', '/limit'],
      ['queue=a&queue=a', '/queue'],
      ['limit=1&order=newest&order=oldest&order=newest', '/order'],
      ['queue=a&limit=1&limit=x', '/limit'],
      ['odd=1&limit=1&limit=2', '/limit'],
    ] as const) {
      const answer = await service.call('GET', `/jobs?${query}`);
      expectProblem(answer, 400, 'invalid_request', field);
      expect(answer.body.errors).toEqual([{ in: 'query', path: field, message: 'must not be given twice' }]);
    }
  });

  const operations = Object.keys(OPERATIONS).filter(
    (name) => !['getHealth', 'getReadiness', 'getVersion', 'getMetrics'].includes(name),
  );
  test.each(operations)('with a parameter that the operation does not have is refused: %s', async (name) => {
    const { method, path, body } = requestOf(name);
    const answer = await service.call(method, withQuery(path, 'odd=1&odd=2'), body);
    expectProblem(answer, 400, 'invalid_request', '/odd');
    expect(answer.body.errors).toEqual([{ in: 'query', path: '/odd', message: 'is not a known field' }]);
  });

  test('may have any parameter where probes and Prometheus ask', async () => {
    for (const path of ['/healthz', '/readyz', '/version', '/metrics'])
      expect((await service.call('GET', `${path}?odd=1`)).status, path).toBe(200);
  });

  test('with an empty cursor is refused', async () => {
    for (const list of ['jobs', 'queues', 'schedules']) {
      await refused(`/${list}?cursor=`, '/cursor');
      await refused(`/${list}?cursor`, '/cursor');
    }
  });
});

test('the last page of a list has no next_cursor, also when it is full', async () => {
  const queues = ['a', 'b', 'c', 'd'];
  for (const queue of queues) {
    await at.enqueue({ queue });
    await at.ok('PUT', `/schedules/${queue}`, { cron: '0 0 1 1 *', job: {} });
  }
  for (const list of ['jobs', 'queues', 'schedules']) {
    const first = await at.ok('GET', `/${list}?limit=2`);
    const last = await at.ok('GET', `/${list}?limit=2&cursor=${first.next_cursor}`);
    expect([first[list].length, last[list].length]).toEqual([2, 2]);
    expect(last.next_cursor, list).toBe(null);
    expect((await at.ok('GET', `/${list}?limit=4`)).next_cursor, list).toBe(null);
    expect((await at.ok('GET', `/${list}?limit=3`)).next_cursor, list).not.toBe(null);
  }
});
