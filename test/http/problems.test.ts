import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectProblem, moves, UNKNOWN_ID, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Answer, type Method, type Service, startService } from '../support/service.ts';
import { SEVERAL } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

function expectDocument({ status, body, headers }: Answer): void {
  expect(headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  expect(body).toMatchObject({ status, type: `urn:problem-type:dibs:${body.code}` });
  expect(body.title).not.toBe('');
  // A sentence: one space between words, and a full stop.
  expect(body.detail).toMatch(/^(\S+ )+\S+\.$/);
  const known = [
    'type',
    'title',
    'status',
    'detail',
    'code',
    'errors',
    ...(status === 503 ? ['outcome'] : []),
  ];
  expect(Object.keys(body).filter((name) => !known.includes(name))).toEqual([]);
  if (status === 400) {
    expect(body.errors.length).toBeGreaterThan(0);
    for (const error of body.errors) {
      expect(['body', 'query', 'path', 'header']).toContain(error.in);
      expect(error.path).toMatch(/^(\/.*)?$/);
      expect(error.message).not.toBe('');
    }
  }
}

async function refused(
  request: [Method, string, unknown?, Record<string, string>?],
  status: number,
  code: string,
  where?: { in: string; path: string },
): Promise<Answer> {
  const answer = await service.call(...request);
  expectProblem(answer, status, code);
  expectDocument(answer);
  if (where) expect(answer.body.errors[0]).toMatchObject(where);
  return answer;
}

describe('every code has its status and a problem document', () => {
  const noQueue = '/queues/nowhere';
  test('invalid_request is 400 and names the field', async () => {
    await refused(['POST', '/jobs', { priority: 'x' }], 400, 'invalid_request', {
      in: 'body',
      path: '/priority',
    });
    const body = { in: 'body', path: '' };
    const bodyless = await refused(['POST', '/queues/x/pause', { a: 1 }], 400, 'invalid_request', body);
    expect(bodyless.body.detail).toBe('The body must be empty: this operation takes none.');
    const many = Array.from({ length: 501 }, () => ({ id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN }));
    await refused(['POST', '/jobs/settle', { acks: many, releases: many }], 400, 'invalid_request', body);
    await refused(['GET', '/jobs?cursor='], 400, 'invalid_request', { in: 'query', path: '/cursor' });
    await refused(['POST', '/jobs', { unique_for_seconds: 1 }], 400, 'invalid_request', {
      in: 'body',
      path: '/unique_for_seconds',
    });
    await refused(['GET', '/jobs?limit=x'], 400, 'invalid_request', { in: 'query', path: '/limit' });
    await refused(['GET', '/queues/a%20b'], 400, 'invalid_request', { in: 'path', path: '/queue' });
  });

  test('job_not_found and queue_not_found are 404', async () => {
    const settle = { lease_token: UNKNOWN_TOKEN };
    for (const id of [UNKNOWN_ID, 'x', 'x'.repeat(16_000)]) {
      await refused(['GET', `/jobs/${id}`], 404, 'job_not_found');
      await refused(['DELETE', `/jobs/${id}`], 404, 'job_not_found');
      await refused(['POST', `/jobs/${id}/retry`], 404, 'job_not_found');
      for (const verb of ['ack', 'nack', 'release'])
        await refused(['POST', `/jobs/${id}/${verb}`, settle], 404, 'job_not_found');
      await refused(['POST', `/jobs/${id}/extend`, { ...settle, lease_seconds: 1 }], 404, 'job_not_found');
    }
    await refused(['GET', noQueue], 404, 'queue_not_found');
    await refused(['DELETE', noQueue], 404, 'queue_not_found');
    for (const verb of ['resume', 'redrive'])
      await refused(['POST', `${noQueue}/${verb}`], 404, 'queue_not_found');
    await refused(['POST', `${noQueue}/purge`, { states: ['dead'] }], 404, 'queue_not_found');
  });

  test('lease_lost, job_leased, job_finished and queue_not_empty are 409', async () => {
    await at.configure('conflicts', { retention_seconds: 1000 });
    await at.enqueue({ queue: 'conflicts' });
    const job = await at.claimOne('conflicts');
    const stale = { lease_token: UNKNOWN_TOKEN };
    await refused(['POST', `/jobs/${job.id}/ack`, stale], 409, 'lease_lost');
    await refused(['POST', `/jobs/${job.id}/retry`], 409, 'job_leased');
    await refused(['DELETE', '/queues/conflicts'], 409, 'queue_not_empty');
    await at.settle('ack', job);
    await refused(['DELETE', `/jobs/${job.id}`], 409, 'job_finished');
    await refused(['POST', `/jobs/${job.id}/retry`], 409, 'job_finished');
  });

  test('payload_too_large is 413, for a value and for a whole body', async () => {
    const large = 'x'.repeat(2 ** 20);
    await refused(['POST', '/jobs', { payload: large }], 413, 'payload_too_large', {
      in: 'body',
      path: '/payload',
    });
    const whole = ' '.repeat(16 * 2 ** 20 - 2);
    expect((await service.call('POST', '/jobs/settle', `{}${whole}`)).status).toBe(200);
    await refused(['POST', '/jobs/settle', `{}${whole} `], 413, 'payload_too_large');
  });

  test('a route reads no more than its body may need: 64 KiB without a payload, one job and half a MiB with one', async () => {
    const one = 2 ** 20 + 512 * 1024;
    for (const [method, path, most] of [
      ['POST', '/jobs/claim', 64 * 1024],
      ['POST', '/queues/q/redrive', 64 * 1024],
      ['PUT', '/queues/q', 64 * 1024],
      ['POST', `/jobs/${UNKNOWN_ID}/release`, 64 * 1024],
      ['POST', `/jobs/${UNKNOWN_ID}/extend`, (64 + 16) * 1024],
      ['POST', '/jobs', one],
      ['PATCH', `/jobs/${UNKNOWN_ID}`, one],
      ['PUT', '/schedules/s', one],
    ] as [Method, string, number][]) {
      const whole = await service.call(method, path, `{}${' '.repeat(most - 2)}`);
      expect(whole.status, `${method} ${path}`).not.toBe(413);
      await refused([method, path, `{}${' '.repeat(most - 1)}`], 413, 'payload_too_large');
    }
  });

  test('unsupported_media_type is 415', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonx',
      'application/problem+json',
      'multipart/form-data; boundary=x',
      'nonsense',
      ';',
      '',
    ])
      for (const path of ['/jobs', '/jobs/claim', '/jobs/settle'])
        await refused(['POST', path, '{}', { 'content-type': type }], 415, 'unsupported_media_type');
    await refused(
      ['PUT', '/queues/q', '{}', { 'content-type': 'text/plain' }],
      415,
      'unsupported_media_type',
    );
    const of = (headers: Record<string, string>) => ({ 'content-type': 'application/json', ...headers });
    for (const encoding of ['gzip', 'br', 'identity, gzip', 'nonsense'])
      for (const path of ['/jobs', '/jobs/claim'])
        await refused(
          ['POST', path, '{}', of({ 'content-encoding': encoding })],
          415,
          'unsupported_media_type',
        );
    for (const charset of ['iso-8859-1', 'utf-16', '"latin1"', 'utf-8x', ''])
      await refused(
        ['POST', '/jobs', '{}', of({ 'content-type': `application/json; charset=${charset}` })],
        415,
        'unsupported_media_type',
      );
    const missing = await service.app.inject({ method: 'POST', url: '/jobs', payload: Buffer.from('{}') });
    expect(missing.json()).toMatchObject({ status: 415, code: 'unsupported_media_type' });
  });

  test('internal is 500, and reveals nothing of the inside', async () => {
    const { admit } = service.engine;
    const listQueues = () => {
      throw new Error('select secret from dibs.jobs: at /srv/dibs/src/admin.ts:1');
    };
    service.engine.admit = (...request) => ({ ...admit(...request), listQueues });
    const answer = await refused(['GET', '/queues'], 500, 'internal');
    service.engine.admit = admit;
    expect(answer.text).not.toMatch(/select|secret|dibs\.jobs|\.ts|stack/i);
  });

  // With several databases, all but home serve on while home is away: databases/away.
  test.skipIf(SEVERAL)('unavailable is 503 with Retry-After', async () => {
    const other = await startService({ databaseUrl: service.databaseUrl });
    await other.db.close();
    for (const request of [
      ['GET', '/readyz'],
      ['GET', '/queues'],
      ['GET', '/jobs'],
      ['POST', '/jobs', {}],
      ['POST', '/jobs/claim', { wait_seconds: 5 }],
    ] as [Method, string, unknown?][]) {
      const answer = await other.call(...request);
      expectProblem(answer, 503, 'unavailable');
      expectDocument(answer);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      // Only a call that changes something tells whether it may have been done.
      expect(answer.body.outcome).toBe(request[0] === 'GET' ? undefined : 'not_done');
    }
    expect((await other.call('GET', '/healthz')).status).toBe(200);
    other.engine.stopWaiting();
    await other.app.close();
    await other.engine.stop();
  });
});

describe('a body', () => {
  const body = { in: 'body', path: '' };
  test('must be JSON', async () => {
    for (const text of [
      '{',
      '{"a":1,}',
      "{'a':1}",
      '{"payload":01}',
      '{"payload":NaN}',
      '{} {}',
      '\ufeff{}',
      '\u0000',
      ' ',
    ])
      for (const path of ['/jobs', '/jobs/batch', '/jobs/claim', '/queues/q/purge'])
        await refused(['POST', path, text], 400, 'invalid_request', body);
  });

  test('must be UTF-8', async () => {
    for (const bytes of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
      const payload = Buffer.concat([Buffer.from('{"payload":"'), Buffer.from(bytes), Buffer.from('"}')]);
      const headers = { 'content-type': 'application/json' };
      const answer = await service.app.inject({ method: 'POST', url: '/jobs', headers, payload });
      expect(answer.json()).toMatchObject({ status: 400, code: 'invalid_request', errors: [body] });
    }
  });

  test('may be left out of a claim and a redrive, and nowhere else', async () => {
    await at.configure('q', {});
    for (const empty of [undefined, '']) {
      for (const path of ['/jobs/claim', '/queues/q/redrive'])
        expect((await service.call('POST', path, empty)).status).toBe(200);
      for (const path of [
        '/jobs',
        '/jobs/batch',
        '/jobs/settle',
        `/jobs/${UNKNOWN_ID}/ack`,
        '/queues/q/purge',
      ])
        await refused(['POST', path, empty], 400, 'invalid_request', body);
      await refused(['PUT', '/queues/q', empty], 400, 'invalid_request', body);
    }
  });

  test('is refused where an operation takes none, whatever its type and its size, unless it is empty or {}, and nothing is done', async () => {
    await at.configure('bare', {});
    await at.ok('PUT', '/schedules/bare', { cron: '0 0 1 1 *', job: { queue: 'bare' } });
    const job = await at.enqueue({ queue: 'bare', delay_seconds: 1000 });
    const operations: [Method, string][] = [
      ['POST', '/queues/bare/pause'],
      ['POST', '/queues/bare/resume'],
      ['POST', `/jobs/${job.id}/retry`],
      ['POST', '/schedules/bare/trigger'],
      ['DELETE', `/jobs/${job.id}`],
      ['DELETE', '/schedules/bare'],
      ['DELETE', '/queues/bare?force=true'],
    ];
    for (const [method, path] of operations)
      for (const ignored of [{ states: ['ready'] }, [], null, 0, '"x"'])
        await refused([method, path, ignored], 400, 'invalid_request', body);
    const [method, path] = operations[0] as [Method, string];
    for (const [name, value] of [
      ['content-type', 'text/plain'],
      ['content-encoding', 'gzip'],
    ] as const)
      await refused([method, path, '{}', { [name]: value }], 400, 'invalid_request', body);
    const large = await refused([method, path, ' '.repeat(64 * 1024 + 1)], 400, 'invalid_request', body);
    expect(large.body.detail).toBe('The body must be empty: this operation takes none.');
    expect(await at.get(job.id)).toMatchObject({ state: 'scheduled' });
    expect(await at.ok('GET', '/queues/bare')).toMatchObject({ paused: false, counts: { ready: 0 } });
    for (const [method, path] of operations)
      for (const nothing of method === 'DELETE' ? [{}] : [undefined, '', {}])
        expect((await service.call(method, path, nothing)).status, path).toBeLessThan(300);
  });

  test('is refused with GET and HEAD, too, unless it is empty or {}', async () => {
    await at.ok('PUT', '/queues/read', {});
    const paths = ['/queues', '/queues/read', '/jobs?queue=read', '/metrics', '/healthz', '/openapi.json'];
    for (const path of paths)
      for (const ignored of [
        { queue: 'mail' },
        [],
        null,
        0,
        '"x"',
        '{',
        'limit=5',
        ' '.repeat(64 * 1024 + 1),
      ]) {
        await refused(['GET', path, ignored], 400, 'invalid_request', body);
        expect((await service.call('HEAD', path, ignored)).status, path).toBe(400);
      }
    for (const path of paths)
      for (const nothing of [undefined, '', {}, ' {} '])
        for (const headers of [{}, { 'content-type': 'text/plain' }] as Record<string, string>[])
          expect((await service.call('GET', path, nothing, headers)).status, path).toBe(200);
  });

  test('of {} that is not declared as JSON is told how to declare it', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
      const { body } = await refused(
        ['POST', '/queues/bare/pause', '{}', { 'content-type': type }],
        400,
        'invalid_request',
      );
      expect(body.detail).toBe(
        'The body must be empty, or {} with the header "content-type: application/json": this operation takes none.',
      );
    }
  });

  test('with a byte order mark is told so', async () => {
    for (const text of ['\ufeff{"queue": "mail"}', '\ufeff']) {
      const answer = await refused(['POST', '/jobs', text], 400, 'invalid_request', body);
      expect(answer.body.detail).toBe('The body must be JSON: it begins with a byte order mark (EF BB BF).');
    }
    expect((await service.call('POST', '/jobs', '{"queue": "mail", "payload": "\ufeff"}')).status).toBe(201);
  });

  test('of null is not an empty body', async () => {
    for (const path of ['/jobs', '/jobs/claim', '/jobs/settle', '/queues/q/purge', '/queues/q/redrive'])
      await refused(['POST', path, 'null'], 400, 'invalid_request', body);
  });

  test('may name its charset, and that it is not compressed', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON;charset="UTF-8"'])
      expect((await service.call('POST', '/jobs', '{}', { 'content-type': type })).status).toBe(201);
    const headers = { 'content-type': 'application/json', 'content-encoding': 'Identity' };
    expect((await service.call('POST', '/jobs', '{}', headers)).status).toBe(201);
  });
});
