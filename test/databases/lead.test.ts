import { expect, test } from 'vitest';
import { createLead } from '../../src/databases/lead.ts';
import type { Members } from '../../src/databases/members.ts';
import { beingRelocated, type Place, type Placements } from '../../src/databases/placements.ts';
import { Misplaced } from '../../src/queues/elsewhere.ts';

const place: Place = { queue_id: 1, name: 'q', database: 'home', moving_to: null };
const home = { name: 'home' };
const placements = { find: () => Promise.resolve(place), forget: () => undefined };
const lead = createLead(new Map([['home', home]]) as unknown as Members, placements as unknown as Placements);

test('a request whose queue has left goes where it is now', async () => {
  let times = 0;
  const run = async () => {
    times++;
    if (times === 1) throw new Misplaced();
    return 'done';
  };
  expect(await lead.toQueue('q', run)).toBe('done');
});

test('a request whose queue leaves once more is refused, and nothing is done', async () => {
  const run = () => Promise.reject(new Misplaced());
  await expect(lead.toQueue('q', run)).rejects.toMatchObject({ code: 'unavailable', outcome: 'not_done' });
});

test('while a queue goes to a database that this replica lacks, the refusal says what to do', async () => {
  const leaves = { ...place, moving_to: 'c' };
  const stuck = {
    find: () => Promise.resolve(leaves),
    settled: () => Promise.reject(beingRelocated(leaves)),
  };
  const { toQueue } = createLead(new Map([['home', home]]) as never, stuck as never);
  await expect(toQueue('q', async () => 'done')).rejects.toMatchObject({
    code: 'unavailable',
    outcome: 'not_done',
    message:
      'Queue q is being relocated to the database "c", which this replica does not know yet. It has to be restarted with DATABASE_URL_C, and so have all others.',
  });
});
