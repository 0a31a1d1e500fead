import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import type { Statement } from '../../src/postgres/statements.ts';
import { moves } from '../support/moves.ts';
import { type Method, type Service, startService } from '../support/service.ts';
import { onAll } from '../support/severalDatabases.ts';

let here: Service;
let there: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  here = await startService();
  there = await startService({ databaseUrl: here.databaseUrl });
  at = moves(here);
});
afterEach(() => vi.restoreAllMocks());
afterAll(async () => {
  await there.stop();
  await here.stop();
});

/** Calls `meanwhile` once, right before or right after the first statement with this text. */
function around(text: string, when: 'before' | 'after', meanwhile: () => Promise<unknown>): () => boolean {
  let met = false;
  async function run<T>(statements: Statement[], work: () => Promise<T>): Promise<T> {
    if (met || !statements.some((statement) => statement.text.includes(text))) return work();
    met = true;
    if (when === 'before') await meanwhile();
    const result = await work();
    if (when === 'after') await meanwhile();
    return result;
  }
  for (const db of here.pools) {
    const { query, pipeline } = db;
    vi.spyOn(db, 'query').mockImplementation((statement, parameters, turn) =>
      run([statement], () => query(statement, parameters, turn)),
    );
    vi.spyOn(db, 'pipeline').mockImplementation((calls, sent, turn) =>
      run(
        calls.map(({ statement }) => statement),
        () => pipeline(calls, sent, turn),
      ),
    );
  }
  return () => met;
}

test.each([
  ['PUT', '', { max_attempts: 7, max_leased: 3 }, 'set\n    lease_seconds', 'before'],
  ['PUT', '', { max_attempts: 7, max_leased: 3 }, 'set\n    lease_seconds', 'after'],
  ['POST', '/pause', undefined, 'set paused', 'before'],
  ['POST', '/pause', undefined, 'set paused', 'after'],
] as [Method, string, object | undefined, string, 'before' | 'after'][])(
  '%s /queues/{queue}%s is carried out when the queue is deleted by force meanwhile',
  async (method, verb, body, statement, when) => {
    const queue = at.newQueue();
    await at.enqueue({ queue });
    const deleted = around(statement, when, () => there.call('DELETE', `/queues/${queue}?force=true`));
    const answer = await here.call(method, `/queues/${queue}${verb}`, body);
    expect(deleted()).toBe(true);
    expect(answer).toMatchObject({ status: 200, body: { name: queue, counts: { ready: 0 } } });
    if (body) expect(answer.body.config).toMatchObject(body);
    else expect(answer.body.paused).toBe(true);
    expect(await at.ok('GET', `/queues/${queue}`)).toMatchObject({ created_at: answer.body.created_at });
    const orphans = 'select from dibs.claim_limits where queue_id not in (select id from dibs.queues)';
    expect(await onAll(here.databaseUrl, orphans)).toEqual([]);
  },
);
