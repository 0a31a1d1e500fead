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

const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

/** Texts that would change if they were parsed and written again. */
const TEXTS = [
  'null',
  '0',
  '-0',
  '-0.0',
  '1.0',
  '1.10e-07',
  '1E+2',
  '1e400',
  '-1e-400',
  '12345678901234567890',
  '0.1000000000000000055511151231257827',
  '""',
  '"\\u0000"',
  '"a\\u0000b\\u0000"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00"',
  '"😀"',
  '"\\/\\u002F/\\u00e9é"',
  '"\u2028\u007f\ufffe\uffff"',
  '"\\\\\\""',
  '{"b":1,"a":2,"10":3,"9":4}',
  '{"a":1,"a":2,"\\u0061":3}',
  '{"__proto__":{"polluted":true},"constructor":{"prototype":1}}',
  '{"payload":{"payload":1},"payload":2}',
  '[ ]',
  '{ \t\r\n }',
  '[1 , 2,\n\t3 ]',
  '{ "a" : [ 1 ] , "b":{}}',
  nest(1000),
];

const payloadIn = (text: string): string => {
  const [, payload] = /"payload":([\s\S]*),"headers":\{\},"priority":/.exec(text) ?? [];
  return payload as string;
};

const spaced = ['', ' ', '\n', '\t \r\n'];

describe('a payload comes back exactly as it was sent', () => {
  test('from GET /jobs/{id}, a list and a claim, when it was sent alone', async () => {
    for (const [i, payload] of TEXTS.entries()) {
      const queue = at.newQueue('single');
      const gap = spaced[i % spaced.length];
      const body = `${gap}{"queue":"${queue}","payload"${gap}:${gap}${payload}${gap}}${gap}`;
      const { id } = (await service.call('POST', '/jobs', body)).body;
      const answers = [
        await service.call('GET', `/jobs/${id}`),
        await service.call('GET', `/jobs?queue=${queue}&include=payload`),
        await service.call('POST', '/jobs/claim', { queues: [queue] }),
      ];
      for (const { text } of answers) expect(payloadIn(text), text).toBe(payload);
    }
  });

  test('from a claim of many jobs, when it was sent in a batch', async () => {
    const items = TEXTS.map((payload, i) => {
      const gap = spaced[i % spaced.length];
      return `${gap}{ "payload":${gap}${payload}${gap}, "queue" :"batch" }${gap}`;
    });
    const sent = await service.call('POST', '/jobs/batch', `{"jobs" : [${items.join(',')}] }`);
    expect(sent.status, sent.text).toBe(201);
    for (const [i, { id }] of sent.body.jobs.entries())
      expect(payloadIn((await service.call('GET', `/jobs/${id}`)).text)).toBe(TEXTS[i]);
    const claimed = await service.call('POST', '/jobs/claim', { queues: ['batch'], limit: 1000 });
    let from = 0;
    for (const payload of TEXTS) {
      const found = claimed.text.indexOf(`"payload":${payload}`, from);
      expect(found, payload).toBeGreaterThan(from);
      from = found;
    }
  });

  test('from a claim after a release', async () => {
    await service.call('POST', '/jobs', '{"queue":"again","payload":{"b":1.0,"b":1e400}}');
    await at.settle('release', await at.claimOne('again'));
    const again = await service.call('POST', '/jobs/claim', { queues: ['again'] });
    expect(again.text).toContain('"payload":{"b":1.0,"b":1e400}');
  });

  test('the last of several "payload" members counts, also when its name is written with escapes', async () => {
    for (const [body, payload] of [
      ['{"payload":1.0,"payload":2.0}', '2.0'],
      ['{"payload":1.0,"pay\\u006coad":3.0}', '3.0'],
      ['{"p\\u0061yload":1.0,"queue":"default","payload": 4.0 }', '4.0'],
    ] as const) {
      const { id } = (await service.call('POST', '/jobs', body)).body;
      expect(payloadIn((await service.call('GET', `/jobs/${id}`)).text)).toBe(payload);
    }
    const tooLarge = `{"payload":"${'x'.repeat(2 ** 20)}","payload":5.0}`;
    expect((await service.call('POST', '/jobs', tooLarge)).status).toBe(413);
    const twice = '{"jobs":[{"payload":1},{"payload":2}],"jobs":[{"payload":3.0}]}';
    const { jobs } = (await service.call('POST', '/jobs/batch', twice)).body;
    expect(jobs).toHaveLength(1);
    expect(payloadIn((await service.call('GET', `/jobs/${jobs[0].id}`)).text)).toBe('3.0');
  });
});

describe('a payload', () => {
  const text = (bytes: number) => `"${'é'.repeat((bytes - 2) / 2)}"`;

  test('may have 1 MiB of text, and is 413 with a byte more', async () => {
    const largest = text(2 ** 20);
    const { status, body } = await service.call('POST', '/jobs', `{"payload":  ${largest}  }`);
    expect(status).toBe(201);
    expect((await service.call('GET', `/jobs/${body.id}`)).text).toContain(`"payload":${largest}`);
    const tooLarge = await service.call('POST', '/jobs', `{"payload":${largest.replace('é', 'ééx')}}`);
    expectProblem(tooLarge, 413, 'payload_too_large', '/payload');
    const oneMore = await service.call('POST', '/jobs', `{"payload":"${'x'.repeat(2 ** 20 - 1)}"}`);
    expectProblem(oneMore, 413, 'payload_too_large', '/payload');
  });

  test('that is too large in a batch is named by the 413, and nothing is enqueued', async () => {
    const item = (payload: string) => `{"queue":"large","payload":${payload}}`;
    const jobs = [item('1'), item(text(2 ** 20)), item(`"${'x'.repeat(2 ** 20 - 1)}"`)];
    const answer = await service.call('POST', '/jobs/batch', `{"jobs":[${jobs.join(',')}]}`);
    expectProblem(answer, 413, 'payload_too_large', '/jobs/2/payload');
    expect(await at.claim('large')).toEqual([]);
  });

  test('may nest 1000 levels, and is 400 with one more', async () => {
    const ok = await service.call('POST', '/jobs', `{"payload":${nest(1000)}}`);
    expect(ok.status).toBe(201);
    const deep = await service.call('POST', '/jobs', `{"payload":${nest(1001)}}`);
    expectProblem(deep, 400, 'invalid_request', '/payload');
    const abyss = await service.call('POST', '/jobs', `{"payload":${nest(500_000)}}`);
    expectProblem(abyss, 400, 'invalid_request', '/payload');
    const batch = await service.call('POST', '/jobs/batch', `{"jobs":[{},{"payload":${nest(1001)}}]}`);
    expectProblem(batch, 400, 'invalid_request', '/jobs/1/payload');
  });

  test('is claimed with all others of a batch of 16 MiB, in as many claims as that takes', async () => {
    const item = `{"queue":"heavy","payload":"${'x'.repeat(2 ** 20 - 200)}"}`;
    const sent = await service.call('POST', '/jobs/batch', `{"jobs":[${Array(15).fill(item).join(',')}]}`);
    expect(sent.status).toBe(201);
    let count = 0;
    for (let got = 1; got > 0; count += got) got = (await at.claim('heavy', { limit: 1000 })).length;
    expect(count).toBe(15);
  });
});

test('the size limit of a payload is configurable', async () => {
  const strict = await startService({ maxPayloadBytes: 10 });
  expect((await strict.call('POST', '/jobs', '{"payload":"12345678"}')).status).toBe(201);
  expectProblem(await strict.call('POST', '/jobs', '{"payload":"123456789"}'), 413, 'payload_too_large');
  await strict.stop();
});
