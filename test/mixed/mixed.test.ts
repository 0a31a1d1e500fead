import { expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { runMixed } from '../support/mixed/run.ts';
import { storiesOf } from '../support/mixed/story.ts';

const seconds = Number(process.env.MIXED_SECONDS || 18);
const seed = Number(process.env.MIXED_SEED || Math.floor(Math.random() * 2 ** 31));

test('in a mixed workload, with workers and replicas that are killed, no job is lost, doubled, out of order or stuck', {
  timeout: (seconds + 480) * 1000,
}, async () => {
  const database = await createDatabase();
  try {
    const began = Date.now();
    const { violations, record, complaints } = await runMixed(database.url, seed, seconds);
    const tally = Object.fromEntries([...record.tally].toSorted(([a], [b]) => (a < b ? -1 : 1)));
    const stories = storiesOf(violations, record.lives, began).map((life) => JSON.stringify(life));
    const summary = { seed, seconds, tally, complaints: complaints.slice(0, 20), stories };
    if (process.env.MIXED_SECONDS) console.log(JSON.stringify({ ...summary, violations }, null, 2));
    expect(violations, JSON.stringify(summary, null, 2)).toEqual([]);
  } finally {
    await database.drop();
  }
});
