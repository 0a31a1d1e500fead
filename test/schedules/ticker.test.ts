import { expect, test } from 'vitest';
import { unavailable } from '../../src/errors.ts';
import type { Database } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { scheduleTicks } from '../../src/schedules/ticker.ts';

const START = Date.parse('2026-11-21T09:30:00Z');
const at = (second: number) => new Date(START + second * 1000).toISOString();

/** A ticker whose database has the schedules `a` and so on, which tick each second. `fails` says why a tick fails. */
function ticker(due: Record<string, string>, fails: (name: string) => Error | undefined = () => undefined) {
  const clock = { now: at(0) };
  const taken: string[] = [];
  const rested: string[] = [];
  const logged: string[] = [];
  const refusals: Record<string, number> = {};
  const query = async ({ text }: Statement, values: Record<string, string> = {}) => {
    if (text.includes('order by random()'))
      return Object.entries(due)
        .filter(([, time]) => time <= clock.now)
        .map(([name, next_run_at]) => ({
          ...{ name, next_run_at, cron: '* * * * * *', timezone: 'UTC' },
          ...{ revision: name, refusals: refusals[name] ?? 0, job: `{"queue":"${name}"}`, payload: null },
        }));
    if (text.includes('backoff_seconds')) {
      const names = values.names as unknown as string[];
      for (const name of names) refusals[name] = (refusals[name] ?? 0) + 1;
      rested.push(names.join());
      return names.map((name) => ({ name }));
    }
    if (!text.includes('update dibs.schedules'))
      return [{ now: clock.now, next_run_at: Object.values(due).sort()[0] ?? null }];
    const { name = '', last_run_at = '', next_run_at = '' } = values;
    taken.push(`${name} ${last_run_at}`);
    due[name] = next_run_at;
    return [{ name }];
  };
  const run = scheduleTicks({
    db: { query } as unknown as Database,
    enqueueWithin: async (jobs, _, work) => {
      const error = fails(jobs[0]?.queue as string);
      if (error) throw error;
      return work({ query } as never, async () => []);
    },
    rest: { dozedSince: () => 0 },
    log: (_, message) => logged.push(message),
  });
  return { run, clock, taken, rested, logged };
}

test('a replica that falls behind while it runs makes a job for each tick', async () => {
  const { run, clock, taken } = ticker({ a: at(1) });
  for (let second = 0; second <= 40; second += 8) {
    clock.now = at(second);
    await run();
  }
  expect(taken).toEqual([1, 2, 3, 4, 5].map((second) => `a ${at(second)}`));
});

test('one job makes up for the ticks of a time in which a replica was away', async () => {
  const { run, clock, taken } = ticker({ a: at(1) });
  await run();
  clock.now = at(60);
  await run();
  clock.now = at(62);
  await run();
  expect(taken).toEqual([`a ${at(60)}`, `a ${at(61)}`]);
});

test('a refused schedule rests, is logged once, and delays no other', async () => {
  const { run, clock, taken, rested, logged } = ticker({ a: at(0), b: at(0) }, (name) =>
    name === 'a' ? new Error('refused') : undefined,
  );
  expect(await run()).toBe(true);
  clock.now = at(1);
  await run();
  expect(taken).toEqual([`b ${at(0)}`, `b ${at(1)}`]);
  expect(rested).toEqual(['a', 'a']);
  expect(logged).toEqual(['the job of schedule a was refused, it will be tried again']);
});

test('after an outage the other ticks that were read are left for the next look', async () => {
  const { run, taken, rested } = ticker({ a: at(0), b: at(0) }, (name) =>
    name === 'a' ? unavailable() : undefined,
  );
  await run();
  expect({ taken, rested }).toEqual({ taken: [], rested: ['a'] });
});
