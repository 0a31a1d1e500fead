import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Refusal } from '../../src/errors.ts';
import { moves, UNKNOWN_ID } from '../support/moves.ts';
import { NAMES, odd, oddObject } from '../support/odd.ts';
import { type Method, type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

const object = (names: string) => oddObject(names.split(' '));
const job = object(
  'queue payload headers priority delay_seconds max_attempts backoff unique_key unique_for_seconds',
);
const timed = object('queue run_at payload backoff');
const config = object(
  'lease_seconds max_attempts backoff retention_seconds dead_retention_seconds alert_after_seconds',
);
const list = (name: string, item: fc.Arbitrary<string>) =>
  fc.array(item, { maxLength: 4 }).map((items) => `{"${name}":[${items.join(',')}]}`);
const withMember = (text: string, member: string) => `{${member}${text === '{}' ? '' : ','}${text.slice(1)}`;

const ROUTES: [Method, string, fc.Arbitrary<string>][] = [
  ['POST', '/jobs', fc.oneof(job, timed)],
  ['POST', '/jobs/batch', list('jobs', fc.oneof(job, timed))],
  ['POST', '/jobs/claim', oddObject(['queues', 'limit', 'lease_seconds', 'wait_seconds', 'worker'])],
  ['PUT', '/queues/a', config],
  ['POST', '/queues/a/purge', oddObject(['states'])],
  ['POST', '/queues/a/redrive', oddObject(['limit', 'error_contains'])],
  ['POST', `/jobs/${UNKNOWN_ID}/ack`, oddObject(['lease_token', 'result'])],
  ['POST', `/jobs/${UNKNOWN_ID}/nack`, oddObject(['lease_token', 'error', 'delay_seconds', 'retry'])],
  ['POST', '/jobs/settle', list('nacks', oddObject(['id', 'lease_token', 'error']))],
  ['POST', '/jobs', odd],
  ['POST', '/jobs/settle', oddObject(NAMES, 3)],
  ['PUT', '/queues/b', oddObject(NAMES, 3)],
];

/** `call` also checks the answer against the OpenAPI document. */
async function never500(method: Method, path: string, body?: string) {
  const answer = await service.call(method, path, body);
  expect(answer.status, `${method} ${path} ${body}\n${answer.text}`).toBeLessThan(500);
  expect(answer.text).not.toMatch(/dibs\.jobs|syntax for type|\n {4}at |node_modules/);
  return answer;
}

test('no body makes the service fail', async () => {
  const request = fc
    .constantFrom(...ROUTES)
    .chain(([method, path, body]) => body.map((text) => [method, path, text] as const));
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(request, async ([method, path, body]) => {
      if ((await never500(method, path, body)).status < 300) accepted++;
    }),
    { numRuns: 700 },
  );
  expect(accepted).toBeGreaterThan(100);
});

test('no settle or extend of a real lease makes the service fail, whatever the job and the configuration', async () => {
  const extend = object('progress').map((text) => withMember(text, '"lease_seconds":60'));
  const settlement = fc.oneof(
    fc.tuple(fc.constant('ack'), object('result')),
    fc.tuple(fc.constant('nack'), object('error delay_seconds retry')),
    fc.tuple(fc.constant('release'), object('delay_seconds')),
    fc.tuple(fc.constant('extend'), extend),
  );
  const ready = object('payload headers priority max_attempts backoff');
  let settled = 0;
  await fc.assert(
    fc.asyncProperty(config, ready, settlement, async (configuration, text, [verb, body]) => {
      const queue = at.newQueue('fuzz');
      await never500('PUT', `/queues/${queue}`, configuration);
      await never500('POST', '/jobs', withMember(text, `"queue":"${queue}"`));
      for (const { id, lease_token } of await at.claim(queue, { lease_seconds: 60 })) {
        const path = `/jobs/${id}`;
        const answer = await never500(
          'POST',
          `${path}/${verb}`,
          withMember(body, `"lease_token":"${lease_token}"`),
        );
        if (answer.status === 200) settled++;
        await never500('GET', path);
        await never500('DELETE', path);
      }
    }),
    { numRuns: 150 },
  );
  expect(settled).toBeGreaterThan(30);
});

test('no path, query or cursor makes the service fail', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '%00',
      '%F0%9F%98%80',
      '%2F',
      '%25',
      '__proto__',
      '..;',
      UNKNOWN_ID,
      'a',
      '%ff',
      '%',
      '1e999',
      '-0',
    ),
    fc.string({ unit: 'binary' }).map(encodeURIComponent),
  );
  const template = fc.constantFrom(
    ...[
      '/jobs/@',
      '/jobs/@/@',
      '/queues/@',
      '/queues/@/@',
      '/@',
      '/jobs?@=@',
      '/jobs?queue=@',
      '/jobs?limit=@',
    ],
    ...[
      '/jobs?cursor=@',
      '/jobs?state=@',
      '/queues?limit=@',
      '/queues?cursor=@',
      '/queues/a?force=@',
      '/jobs?@&@',
    ],
  );
  const method = fc.constantFrom<Method>('GET', 'POST', 'PUT', 'DELETE', 'HEAD');
  const path = fc
    .tuple(template, piece, piece)
    .map(([text, a, b]) => text.replace('@', () => a).replace('@', () => b));
  await fc.assert(
    fc.asyncProperty(method, path, (how, where) => never500(how, where).then(() => undefined)),
    { numRuns: 500 },
  );
});

test('no background duty failed in all these tests', () => {
  // A Refusal is no bug: on a busy machine, the database may seem to be away.
  expect(service.errors.filter((error) => !(error instanceof Refusal))).toEqual([]);
});
