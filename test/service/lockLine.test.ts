import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { expectProblem, moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { databaseOf } from '../support/severalDatabases.ts';

/** 5 s are promised. The rest is for a busy machine. Without a bound, the last of these waited up to half a minute. */
const ANSWERED_MS = 12_000;

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService();
  at = moves(service);
});
afterAll(() => service.stop());

test.each([
  ['with an Idempotency-Key and a unique key', 60],
  ['with a unique key each', 200],
  ['with a unique key each, into two queues', 200],
  ['as follow-ups', 60],
])(
  'enqueues behind an open transaction that holds their keys are 503 within 5 s: %s',
  async (kind, count) => {
    const queue = at.newQueue();
    const other = at.queueBeside(queue);
    await at.enqueueAll(Array(count).fill({ queue: other }));
    await at.enqueue({ queue });
    const leases = await at.claim(other, { limit: count });
    const user = await openTransaction(await databaseOf(service.databaseUrl, queue));
    await user.query(
      `select dibs.enqueue($1, unique_key => 'k' || n) from generate_series(0, $2::integer - 1) n`,
      [queue, count],
    );
    const jobs = Array.from({ length: count }, (_, i) => ({ queue, unique_key: `k${i}` }));
    const calls = jobs.map(async (job, i) => {
      const started = performance.now();
      const answer = await (kind === 'as follow-ups'
        ? at.settle('ack', leases[i], { enqueue: [job] })
        : kind.endsWith('two queues')
          ? service.call('POST', '/jobs/batch', { jobs: [job, { queue: other }] })
          : service.call('POST', '/jobs', job, kind.includes('Idem') ? { 'idempotency-key': `${i}` } : {}));
      return { answer, ms: performance.now() - started };
    });
    const answers = await Promise.all(calls);
    for (const { answer, ms } of answers) {
      expectProblem(answer, 503, 'unavailable');
      expect(ms).toBeLessThan(ANSWERED_MS);
    }
    await user.end('rollback');
  },
);
