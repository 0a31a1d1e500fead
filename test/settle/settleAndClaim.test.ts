import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createSettleAndClaim } from '../../src/claim/settleAndClaim.ts';
import { unavailable } from '../../src/errors.ts';
import { createLeaseTimes } from '../../src/leaseTimes.ts';
import { moves, UNKNOWN_TOKEN } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';
import { until } from '../support/until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

let service: Service;
let at: ReturnType<typeof moves>;
let url: string;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  url = await service.listen();
});
afterAll(() => service.stop());

const sql = <Row extends Record<string, unknown>>(text: string, values: unknown[]) =>
  onAll<Row>(service.databaseUrl, text, values);
const settle = (body: unknown, headers?: Record<string, string>) =>
  service.call('POST', '/jobs/settle', body, headers);
const item = ({ id, lease_token }: Json) => ({ id, lease_token });

/** A queue with this number of jobs, the first of which is leased. */
async function loop(count: number) {
  const queue = at.newQueue();
  await at.enqueueAll(Array(count).fill({ queue, payload: 'p' }));
  const [first] = await at.claim(queue);
  return { queue, first };
}
const stateOf = async ({ id }: Json) => (await service.call('GET', `/jobs/${id}`)).body.state;

describe('settle with claim', () => {
  test('a worker settles its job and gets the next one, in one request', async () => {
    const { queue, first } = await loop(2);
    const { status, body } = await settle({
      acks: [item(first)],
      claim: { queues: [queue], worker: 'w', lease_seconds: 9 },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      acks: [{ id: first.id, status: 200, state: 'completed' }],
      jobs: [{ queue, payload: 'p', worker: 'w', lease_seconds: 9, lease_token: expect.any(String) }],
    });
    expect(body).not.toHaveProperty('problem');
  });

  test.each([undefined, 'one'])(
    'the claim goes in the transaction of the acks: claim_id %s',
    async (claim_id) => {
      const queue = at.newQueue();
      await at.configure(queue, { retention_seconds: 3600 });
      const transactionsOf = async (...jobs: Json[]) => {
        const rows = await sql<{ xmin: string }>('select xmin from dibs.jobs where id = any ($1)', [
          jobs.map(({ id }) => id),
        ]);
        return new Set(rows.map(({ xmin }) => xmin)).size;
      };
      await at.enqueueAll(Array(3).fill({ queue }));
      const acks = await at.claim(queue, { limit: 2 });
      const { body } = await settle({ acks: acks.map(item), claim: { queues: [queue], claim_id } });
      expect(await transactionsOf(...acks, ...body.jobs)).toBe(1);
    },
  );

  test('a worker that always uses one claim_id gets the next job, not the one that it acks', async () => {
    const { queue, first } = await loop(4);
    const claim = { queues: [queue], claim_id: 'always' };
    const seen = new Set([first.id]);
    for (let acked = first; seen.size < 4; ) {
      const [next] = (await settle({ acks: [item(acked)], claim })).body.jobs;
      expect(seen).not.toContain(next.id);
      seen.add(next.id);
      acked = next;
    }
  });

  test('acks of several queues are settled before the claim', async () => {
    const { queue, first } = await loop(1);
    const other = await at.enqueue({ queue: at.newQueue() });
    const late = await at.claimOne(other.queue, { lease_seconds: 1 });
    await at.reaches(late.id, 'ready');
    const { body } = await settle({ acks: [first, late].map(item), claim: { queues: [queue, other.queue] } });
    expect(body).toMatchObject({ acks: [{ status: 200 }, { status: 200 }], jobs: [] });
  });

  test('a job whose lease ran out, and whose client waits at any replica, is settled before the claim', async () => {
    const queue = at.newQueue();
    const { id } = await at.enqueue({ queue });
    await sql(`update dibs.jobs set awaited_until = now() + interval '1 hour' where id = $1`, [id]);
    const first = await at.claimOne(queue, { lease_seconds: 1 });
    await at.reaches(id, 'ready');
    const { body } = await settle({ acks: [{ ...item(first), result: 7 }], claim: { queues: [queue] } });
    expect(body).toMatchObject({ acks: [{ id, status: 200, state: 'completed' }], jobs: [] });
    expect(await at.get(id)).toMatchObject({ state: 'completed', result: 7 });
  });

  test('a settlement that fails as a whole gives back what the claim gets', async () => {
    const gone = vi.fn();
    const leaseEnds = createLeaseTimes();
    leaseEnds.note('one', Number.POSITIVE_INFINITY);
    const settling = createSettleAndClaim({
      leaseEnds,
      async settle({ acks = [] }) {
        for (const { thenClaims } of acks) thenClaims?.('q');
        throw unavailable();
      },
      async claim({ onHangup }) {
        onHangup?.(gone);
        return [];
      },
    });
    const acks = [{ id: 'one', lease_token: 'any' }];
    await expect(settling({ acks, claim: { queues: ['q'] } })).rejects.toMatchObject({ code: 'unavailable' });
    expect(gone).toHaveBeenCalledOnce();
  });

  test('a worker gets the job behind the one that it settles, in the same group', async () => {
    const queue = at.newQueue();
    await at.enqueueAll(Array(2).fill({ queue, group: 'g' }));
    const [first] = await at.claim(queue);
    const { body } = await settle({ acks: [item(first)], claim: { queues: [queue] } });
    expect(body.jobs).toMatchObject([{ queue, group: 'g' }]);
  });

  test.each([undefined, 'again'])(
    'a job whose lease ran out is settled before the claim, which does not get it again: claim_id %s',
    async (claim_id) => {
      const queue = at.newQueue();
      await at.enqueue({ queue });
      const first = await at.claimOne(queue, { lease_seconds: 1 });
      await at.reaches(first.id, 'ready');
      const { body } = await settle({ acks: [item(first)], claim: { queues: [queue], claim_id } });
      expect(body).toMatchObject({ acks: [{ status: 200 }], jobs: [] });
    },
  );

  test('the place of a settled job is free for the claim, under max_leased', async () => {
    const { queue, first } = await loop(2);
    await service.call('PUT', `/queues/${queue}`, { max_leased: 1 });
    await until(async () => (await service.call('GET', `/queues/${queue}/explain`)).body.code !== 'ready');
    const { body } = await settle({ acks: [item(first)], claim: { queues: [queue] } });
    expect(body.jobs).toHaveLength(1);
  });

  test('without items it is a claim, and without jobs it is answered empty', async () => {
    const { queue } = await loop(2);
    expect((await settle({ claim: { queues: [queue] } })).body.jobs).toHaveLength(1);
    expect((await settle({ claim: { queues: [queue] } })).body).toEqual({
      acks: [],
      nacks: [],
      releases: [],
      extends: [],
      jobs: [],
    });
  });

  test('a stale lease spoils nothing for the claim', async () => {
    const { queue, first } = await loop(2);
    const { body } = await settle({
      acks: [{ id: first.id, lease_token: UNKNOWN_TOKEN }],
      claim: { queues: [queue], payload_format: 'text' },
    });
    expect(body).toMatchObject({
      acks: [{ status: 409, problem: { code: 'lease_lost' } }],
      jobs: [{ payload_text: '"p"' }],
    });
  });

  test.each([
    ['an unknown field', { queues: ['q'], limits: 1 }, '/claim/limits'],
    ['a limit that is too large', { queues: ['q'], limit: 1001 }, '/claim/limit'],
    ['half of a surrogate pair', { queues: ['q'], worker: '\ud800' }, '/claim/worker'],
  ])('a malformed claim settles nothing: %s', async (_, claim, path) => {
    const { first } = await loop(1);
    const { status, body } = await settle({ acks: [item(first)], claim });
    expect(status).toBe(400);
    expect(body.errors).toEqual([expect.objectContaining({ in: 'body', path })]);
    expect(await stateOf(first)).toBe('leased');
  });

  test('what is settled is settled while the claim still waits', async () => {
    const { queue, first } = await loop(1);
    const answer = settle({ acks: [item(first)], claim: { queues: [queue], wait_seconds: 60 } });
    await until(async () => (await stateOf(first)) === undefined);
    await service.call('POST', '/jobs', { queue });
    expect((await answer).body).toMatchObject({ acks: [{ status: 200 }], jobs: [{ queue }] });
  });

  test('a client that hangs up leaves settled what is settled, and gets no job', async () => {
    const { queue, first } = await loop(1);
    const hangUp = new AbortController();
    const answer = fetch(`${url}/jobs/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ acks: [item(first)], claim: { queues: [queue], wait_seconds: 60 } }),
      signal: hangUp.signal,
    }).catch(() => undefined);
    await until(async () => (await stateOf(first)) === undefined);
    hangUp.abort();
    await answer;
    const { body } = await service.call('POST', '/jobs', { queue });
    const [job] = await at.claim(queue, { wait_seconds: 60 });
    expect(job).toMatchObject({ id: body.id, attempt: 1 });
  });

  test('a repeat with the same claim_id gets the same leases, and settles nothing twice', async () => {
    const { queue, first } = await loop(3);
    const body = { acks: [item(first)], claim: { queues: [queue], claim_id: 'one' } };
    const [one, other] = [await settle(body), await settle(body)];
    expect(other.body.jobs).toEqual(one.body.jobs);
    expect(other.body.acks).toMatchObject([{ status: 404 }]);
  });

  test('a claim that is refused does not refuse what is settled', async () => {
    const { admit } = service.engine;
    const { queue, first } = await loop(1);
    service.engine.admit = (...request) => {
      const verbs = admit(...request);
      const leaseEnds = createLeaseTimes();
      const claim = () => Promise.reject(unavailable());
      return { ...verbs, settleAndClaim: createSettleAndClaim({ ...verbs, claim, leaseEnds }) };
    };
    const { status, body } = await settle({ acks: [item(first)], claim: { queues: [queue] } });
    service.engine.admit = admit;
    expect(status).toBe(200);
    expect(body).toMatchObject({
      acks: [{ status: 200, state: 'completed' }],
      jobs: [],
      problem: { status: 503, code: 'unavailable', outcome: 'not_done' },
    });
    expect(await stateOf(first)).toBeUndefined();
  });
});
