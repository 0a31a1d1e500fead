import { afterAll, beforeAll, expect, test } from 'vitest';
import { completeBackoff } from '../../routes/http/json/jobBody.ts';
import { DEFAULT_BACKOFF } from '../../routes/schemas/job.ts';
import { DEFAULT_CONFIG, NOT_SET } from '../../routes/schemas/queue.ts';
import { LONGEST_SECONDS } from '../../src/job.ts';
import { readSql } from '../../src/postgres/statements.ts';
import { createDatabase, onServer } from '../support/database.ts';

// The same values stand in TypeScript and in SQL: an enqueue or a claim must mean the same, whichever way it comes.

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const ask = async <Row extends Record<string, unknown>>(text: string, ...values: unknown[]): Promise<Row> => {
  const [row] = await onServer<Row>(database.url, text, values);
  return row as Row;
};

test('a queue that was never configured has the defaults of the routes', async () => {
  const { rate_jobs, rate_seconds, ...config } = await ask(
    `insert into dibs.queues (name) values ('plain')
     returning lease_seconds, max_attempts, backoff, retention_seconds, dead_retention_seconds,
       alert_after_seconds, max_leased, rate_jobs, rate_seconds, max_ready, dead_letter_queue,
       group_concurrency, group_batches`,
  );
  expect({ rate_jobs, rate_seconds }).toEqual({ rate_jobs: null, rate_seconds: null });
  expect({ ...config, rate_limit: null }).toEqual({ ...DEFAULT_CONFIG, ...NOT_SET });
});

test('a backoff of which every field is left out is the default one, in SQL and in the routes', async () => {
  const { backoff } = await ask(`select dibs.complete_backoff('{}') as backoff`);
  expect(backoff).toEqual(DEFAULT_BACKOFF);
  expect(completeBackoff({})).toEqual(DEFAULT_BACKOFF);
  expect(DEFAULT_CONFIG.backoff).toEqual(DEFAULT_BACKOFF);
});

test('the longest time is one number: in TypeScript and in SQL', async () => {
  const { longest } = await ask(`select ${readSql('shared/longest_seconds.sql')} as longest`);
  expect(longest).toBe(LONGEST_SECONDS);
});

test('the database accepts the longest time, and not a second more', async () => {
  const backoff = (max_seconds: number) =>
    ask('select dibs.complete_backoff($1) as backoff', JSON.stringify({ max_seconds }));
  expect(await backoff(LONGEST_SECONDS)).toEqual({
    backoff: { ...DEFAULT_BACKOFF, max_seconds: LONGEST_SECONDS },
  });
  await expect(backoff(LONGEST_SECONDS + 1)).rejects.toMatchObject({
    code: '22023',
    message: `backoff: max_seconds must be from 0 to ${LONGEST_SECONDS}`,
  });
  const enqueue = (delay_seconds: number) =>
    ask(`select dibs.enqueue('longest', delay_seconds => $1)`, delay_seconds);
  await enqueue(LONGEST_SECONDS);
  await expect(enqueue(LONGEST_SECONDS + 1)).rejects.toMatchObject({
    code: '22023',
    message: `delay_seconds must be from 0 to ${LONGEST_SECONDS}`,
  });
  const keep = (seconds: number) =>
    ask(`update dibs.queues set retention_seconds = $1 where name = 'longest' returning name`, seconds);
  expect(await keep(LONGEST_SECONDS)).toEqual({ name: 'longest' });
  await expect(keep(LONGEST_SECONDS + 1)).rejects.toMatchObject({ code: '23514' });
});
