import { expect, test } from 'vitest';
import { createLead } from '../../src/databases/lead.ts';
import type { Members } from '../../src/databases/members.ts';
import type { Place, Placements } from '../../src/databases/placements.ts';
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
