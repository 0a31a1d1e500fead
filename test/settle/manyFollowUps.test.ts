import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CountedEngine, countedEngine } from '../support/counting.ts';

const QUEUES = 3;

let counted: CountedEngine;
beforeAll(async () => {
  counted = await countedEngine();
});
afterAll(() => counted.stop());

test.each(['acks', 'nacks'] as const)(
  '999 %s with follow-ups and stale leases cost few statements',
  async (list) => {
    const jobs = Array.from({ length: 999 }, (_, i) => ({ queue: `q${i % QUEUES}` }));
    const ids = (await counted.engine.enqueue({ jobs, at: () => '' })).map(({ id }) => id);
    const items = ids.map((id) => ({
      id,
      lease_token: '6f1d2c3b-4a59-4876-8e1d-0c9b8a7f6e5d',
      enqueue: [{}],
    }));
    const before = counted.count();
    const answers = (await counted.engine.settle({ [list]: items }))[list];
    // One for each was 999: the requests of others stood in line behind them for 100 ms and more. Duties run meanwhile.
    expect(counted.count() - before).toBeLessThan(300);
    expect(answers).toHaveLength(999);
    for (const answer of answers) expect(answer).toMatchObject({ refusal: { code: 'lease_lost' } });
  },
);
