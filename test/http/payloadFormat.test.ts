import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

/** Texts that a client may not be able to read, or not exactly. */
const ODD = [
  'null',
  '1e400',
  '12345678901234567890',
  '1.0',
  '{"a":1,"a":2,"b":"\\u0000\\ud800 é"}',
  `${'['.repeat(1000)}${']'.repeat(1000)}`,
  '""',
];

async function enqueue(queue: string, payload: string): Promise<string> {
  const answer = await service.call('POST', '/jobs', `{"queue":"${queue}","payload":${payload}}`);
  expect(answer.status).toBe(201);
  return answer.body.id;
}

describe('payload_format text gives each payload as a string that holds its JSON text', () => {
  test.each(ODD)('in a claim, a job and a list: %#', async (payload) => {
    const queue = `odd${ODD.indexOf(payload)}`;
    const id = await enqueue(queue, payload);
    const shown = expect.objectContaining({ id, payload_text: payload });

    const job = await service.call('GET', `/jobs/${id}?payload_format=text`);
    expect(job.body).toEqual(shown);
    expect(job.body).not.toHaveProperty('payload');

    const list = await service.call('GET', `/jobs?queue=${queue}&include=payload&payload_format=text`);
    expect(list.body.jobs).toEqual([shown]);
    expect(list.body.jobs[0]).not.toHaveProperty('payload');

    const claim = await service.call('POST', '/jobs/claim', { queues: [queue], payload_format: 'text' });
    expect(claim.body.jobs).toEqual([shown]);
    expect(claim.body.jobs[0]).not.toHaveProperty('payload');
  });

  test('a large claim, which is written in slices', async () => {
    const payload = `"${'"\\'.replaceAll(/./g, '\\$&').repeat(100_000)}"`;
    for (let i = 0; i < 3; i++) await enqueue('large', payload);
    const claim = await service.call('POST', '/jobs/claim', {
      queues: ['large'],
      limit: 3,
      payload_format: 'text',
    });
    expect(claim.body.jobs.map((job: { payload_text: string }) => job.payload_text === payload)).toEqual([
      true,
      true,
      true,
    ]);
  });

  test('a list without payloads has neither', async () => {
    await enqueue('bare', '1');
    const { body } = await service.call('GET', '/jobs?queue=bare&payload_format=text');
    expect(body.jobs[0]).not.toHaveProperty('payload');
    expect(body.jobs[0]).not.toHaveProperty('payload_text');
  });
});

test('payload_format json is the default', async () => {
  const id = await enqueue('plain', '{"a": 1}');
  for (const query of ['', '?payload_format=json']) {
    const { body } = await service.call('GET', `/jobs/${id}${query}`);
    expect(body.payload).toEqual({ a: 1 });
    expect(body).not.toHaveProperty('payload_text');
  }
});

test('another payload_format is 400', async () => {
  const inBody = await service.call('POST', '/jobs/claim', { payload_format: 'xml' });
  expect(inBody.body).toMatchObject({ status: 400, errors: [{ in: 'body', path: '/payload_format' }] });
  for (const path of ['/jobs', `/jobs/${await enqueue('plain', '1')}`]) {
    const inQuery = await service.call('GET', `${path}?payload_format=xml`);
    expect(inQuery.body).toMatchObject({ status: 400, errors: [{ in: 'query', path: '/payload_format' }] });
  }
});

describe('a lease tells for how long it was given', () => {
  test.each([
    ['as the claim asked', { lease_seconds: 12.5 }, 12.5],
    ['as the queue is configured', {}, 45],
    ['also to a repeat of the claim', { claim_id: 'c', lease_seconds: 7 }, 7],
  ])('%s', async (name, asked, lease_seconds) => {
    const queue = name.replaceAll(' ', '-');
    await service.call('PUT', `/queues/${queue}`, { lease_seconds: 45 });
    await enqueue(queue, '1');
    const times = 'claim_id' in asked ? 2 : 1;
    for (let i = 0; i < times; i++) {
      const { body } = await service.call('POST', '/jobs/claim', { queues: [queue], ...asked });
      expect(body.jobs).toEqual([expect.objectContaining({ lease_seconds })]);
    }
  });
});
