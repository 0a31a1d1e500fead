import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  await at.configure('kept', { retention_seconds: 3600 });
});
afterAll(() => service.stop());

const TEXTS = [
  'null',
  '1.0',
  '1e400',
  '"\\u0000\\ud800"',
  '{"b":1,"a":2,"b":3}',
  '[ 1 ,\n2 ]',
  '{"__proto__":1}',
];
const nest = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);

async function leased() {
  await at.enqueue({ queue: 'kept' });
  return at.claimOne('kept');
}

test('a result comes back exactly as it was sent, while the job is kept', async () => {
  for (const text of TEXTS) {
    const job = await leased();
    const body = `{"lease_token":"${job.lease_token}","result": ${text} }`;
    expect((await service.call('POST', `/jobs/${job.id}/ack`, body)).status).toBe(200);
    const found = await service.call('GET', `/jobs/${job.id}`);
    expect(found.body).toMatchObject({ state: 'completed', attempt: 1 });
    expect(found.text).toContain(`"result":${text},`);
  }
});

test('a result in POST /jobs/settle comes back exactly as it was sent', async () => {
  const jobs = await Promise.all(TEXTS.map(leased));
  const items = jobs.map(
    (job, i) => `{"id":"${job.id}","lease_token":"${job.lease_token}","result":${TEXTS[i]}}`,
  );
  expect((await service.call('POST', '/jobs/settle', `{"acks":[${items.join(',')}]}`)).status).toBe(200);
  for (const [i, job] of jobs.entries())
    expect((await service.call('GET', `/jobs/${job.id}`)).text).toContain(`"result":${TEXTS[i]},`);
});

test('a deduplicated follow-up in POST /jobs/settle keeps its progress exactly as it was sent', async () => {
  const big = '12345678901234567890';
  await at.enqueue({ queue: 'kept', unique_key: 'one at a time' });
  const first = await at.claimOne('kept');
  const progress = `{"lease_token":"${first.lease_token}","lease_seconds":60,"progress":${big}}`;
  expect((await service.call('POST', `/jobs/${first.id}/extend`, progress)).status).toBe(200);
  const enqueue = [{ queue: 'kept', unique_key: 'one at a time' }];
  const [acked, dead] = [await leased(), await leased()];
  const item = ({ id, lease_token }: { id: string; lease_token: string }) => ({ id, lease_token, enqueue });
  const answer = await service.call('POST', '/jobs/settle', {
    acks: [item(acked)],
    nacks: [{ ...item(dead), retry: false }],
  });
  expect(answer.body).toMatchObject({
    acks: [
      { id: acked.id, status: 200, state: 'completed', enqueued: [{ id: first.id, deduplicated: true }] },
    ],
    nacks: [{ id: dead.id, status: 200, state: 'dead', enqueued: [{ id: first.id, deduplicated: true }] }],
  });
  expect(answer.text.split(`"progress":${big},`)).toHaveLength(3);
});

test('progress comes back exactly as it was sent, and stays until newer progress is sent', async () => {
  const job = await leased();
  for (const text of TEXTS.slice(1)) {
    const body = `{"lease_token":"${job.lease_token}","lease_seconds":60,"progress":\n${text}}`;
    expect((await service.call('POST', `/jobs/${job.id}/extend`, body)).status).toBe(200);
    expect((await at.settle('extend', job, { lease_seconds: 60 })).status).toBe(200);
    expect((await service.call('GET', `/jobs/${job.id}`)).text).toContain(`"progress":${text},`);
  }
  await at.settle('extend', job, { lease_seconds: 60, progress: null });
  expect((await at.get(job.id)).progress).toBe(null);
});

test('the next worker gets the progress of a failed one', async () => {
  const job = await leased();
  await at.settle('extend', job, { lease_seconds: 60, progress: { done: 3 } });
  await at.settle('nack', job, { delay_seconds: 0 });
  expect((await at.claimOne('kept')).progress).toEqual({ done: 3 });
});

test('a result or progress may have 64 KiB and 1000 levels, and no more', async () => {
  const job = await leased();
  const send = (verb: string, field: string, value: string) =>
    service.call(
      'POST',
      `/jobs/${job.id}/${verb}`,
      `{"lease_token":"${job.lease_token}",${verb === 'extend' ? '"lease_seconds":60,' : ''}"${field}":${value}}`,
    );
  const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;
  for (const [verb, field] of [
    ['extend', 'progress'],
    ['ack', 'result'],
  ] as const) {
    expectProblem(await send(verb, field, text(65_537)), 413, 'payload_too_large', `/${field}`);
    expectProblem(await send(verb, field, nest(1001)), 400, 'invalid_request', `/${field}`);
    if (verb === 'extend') expect((await send(verb, field, nest(1000))).status).toBe(200);
    expect((await send(verb, field, text(65_536))).status).toBe(200);
  }
  const found = await service.call('GET', `/jobs/${job.id}`);
  expect(found.text).toContain(`"progress":${text(65_536)},"result":${text(65_536)}`);
});

test('a result that is too large in POST /jobs/settle is named, and nothing is settled', async () => {
  const [one, two] = [await leased(), await leased()];
  const ack = (job: { id: string; lease_token: string }, result: unknown) => ({
    id: job.id,
    lease_token: job.lease_token,
    result,
  });
  const body = { acks: [ack(one, 1), ack(two, 'x'.repeat(65_536))] };
  expectProblem(await service.call('POST', '/jobs/settle', body), 413, 'payload_too_large', '/acks/1/result');
  expect((await at.get(one.id)).state).toBe('leased');
});
