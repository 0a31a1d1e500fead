import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCaller, SCOPES } from '../../src/caller.ts';
import type { LockTurn } from '../../src/postgres/lockWait.ts';
import type { Verbs } from '../../src/verbs.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';

/* Callers take turns where they wait for locks. So each statement that may wait knows whose it is. */

let service: Service;
let at: ReturnType<typeof moves>;
let verbs: Verbs;
let callers: unknown[];
beforeAll(async () => {
  service = await startService();
  at = moves(service);
  verbs = service.engine.as(createCaller({ id: '1', name: 'acme' }, { scopes: SCOPES, queues: ['*'] }));
  const note = (turn?: LockTurn) => {
    if (turn?.by !== undefined) callers.push(turn.by);
  };
  for (const db of service.pools) {
    const { query, pipeline, transaction } = db;
    db.query = (statement, parameters, turn) => {
      note(turn);
      return query(statement, parameters, turn);
    };
    db.pipeline = (calls, sent, turn) => {
      note(turn);
      return pipeline(calls, sent, turn);
    };
    db.transaction = (work, turn) => {
      note(turn);
      return transaction(work, turn);
    };
  }
});
afterAll(() => service.stop());

const here = () => '';

test.each<[string, (queue: string) => Promise<unknown>]>([
  [
    'enqueues into two queues',
    (queue) => verbs.enqueue({ jobs: [{ queue }, { queue: `${queue}.2` }], at: here }),
  ],
  [
    'an enqueue with an Idempotency-Key and a unique key',
    (queue) =>
      verbs.enqueueOnce({
        request: { route: 'POST /jobs', key: queue, fingerprint: '0'.repeat(64) },
        jobs: [{ queue, unique_key: 'k' }],
        at: here,
      }),
  ],
  [
    'an ack with a follow-up',
    async (queue) => {
      await at.enqueue({ queue });
      const { id, lease_token } = await at.claimOne(queue);
      return verbs.ack({ id, lease_token, enqueue: [{ queue, unique_key: 'k' }], at: here });
    },
  ],
  [
    'a settlement with a follow-up',
    async (queue) => {
      await at.enqueue({ queue });
      const { id, lease_token } = await at.claimOne(queue);
      return verbs.settle({ acks: [{ id, lease_token, enqueue: [{ queue, unique_key: 'k' }] }] });
    },
  ],
  ['a cancel', async (queue) => verbs.cancelJob({ id: (await at.enqueue({ queue })).id })],
  ['a retry', async (queue) => verbs.retryJob({ id: (await at.enqueue({ queue, delay_seconds: 60 })).id })],
  [
    'a change',
    async (queue) => verbs.changeJob({ id: (await at.enqueue({ queue })).id, change: { priority: 1 } }),
  ],
  ['a pause', (queue) => verbs.pauseQueue({ queue })],
  ['a resume', (queue) => at.enqueue({ queue }).then(() => verbs.resumeQueue({ queue }))],
  ['a deletion', (queue) => at.enqueue({ queue }).then(() => verbs.deleteQueue({ queue, force: true }))],
])('%s waits in the turn of its caller', async (_, call) => {
  callers = [];
  await call(at.newQueue());
  expect(callers).toContain('acme');
});
