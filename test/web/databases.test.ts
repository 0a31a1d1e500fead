import { describe, expect, test } from 'vitest';
import { JOB_STATES } from '../../src/job.ts';
import type { DatabaseStatus } from '../../src/verbs/databases.ts';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, heading, useDashboard } from '../support/dashboard.ts';
import { until } from '../support/until.ts';

const { at, root, enqueue, visit } = useDashboard();

const counts = { ...Object.fromEntries(JOB_STATES.map((state) => [state, 0])), ready: 1234 } as NonNullable<
  DatabaseStatus['counts']
>;

/** Runs it with verbs that answer as those of several databases do: `east` is closed at first, `west` is away. */
async function withSeveral(work: () => Promise<void>): Promise<void> {
  const { admit } = at.service.engine;
  let east: DatabaseStatus['state'] = 'closed';
  const status = (name: string): DatabaseStatus =>
    name === 'west'
      ? { name, state: 'away' }
      : { name, state: name === 'east' ? east : 'open', queues: 7, counts };
  at.service.engine.admit = (...asked) => {
    const verbs = admit(...asked);
    return {
      ...verbs,
      listDatabases: async () => ['home', 'east', 'west'].map(status),
      async configureDatabase({ name, accepts_queues }) {
        east = accepts_queues ? 'open' : 'closed';
        return status(name);
      },
      getQueue: async (request) => ({ ...(await verbs.getQueue(request)), database: 'east' }),
      async getOverview(request) {
        const overview = await verbs.getOverview(request);
        const queues = overview.queues.map((queue) => ({ ...queue, database: 'east' }));
        return { ...overview, queues, away: ['west'] };
      },
      listJobs: async (request) => ({ ...(await verbs.listJobs(request)), away: ['west'] }),
    };
  };
  try {
    await work();
  } finally {
    at.service.engine.admit = admit;
  }
}

describe.skipIf(!hasBrowser)('the databases', () => {
  test('of a Dibs with one are not in the way, and it cannot be closed', async () => {
    await enqueue('alone');
    await visit('#/', async (page) => {
      await page.getByRole('link', { name: 'alone' }).waitFor();
      expect(await page.getByRole('link', { name: 'Databases' }).count()).toBe(0);
      await page.goto(`${at.base}/#/databases`);
      await page.getByRole('row', { name: /^home open/ }).waitFor();
      expect(await button(page, /Close/).count()).toBe(0);
      await page.goto(`${at.base}/#/queues/alone`);
      await button(page, 'Purge…').waitFor();
      expect(await button(page, 'Relocate…').count()).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
    });
  });

  test('of several are listed with state, queues and jobs, and one is opened and closed', async () => {
    await enqueue('alone');
    await withSeveral(() =>
      visit('#/', async (page) => {
        await page.getByRole('link', { name: 'Databases' }).first().click();
        await heading(page, 'Databases');
        await page.getByRole('row', { name: /^home open 7 1,234/ }).waitFor();
        await page.getByRole('row', { name: /^west away/ }).waitFor();
        await page.getByRole('row', { name: /^east closed/ }).waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await button(page, 'Open east').click();
        await page.getByRole('row', { name: /^east open/ }).waitFor();
        await button(page, 'Close east').click();
        await page.getByRole('row', { name: /^east closed/ }).waitFor();
        expect(await button(page, /west/).count()).toBe(0);
      }),
    );
  });

  test('a key that may only read closes none', async () => {
    await withSeveral(() =>
      visit(
        '#/databases',
        async (page) => {
          await page.getByRole('row', { name: /^east closed/ }).waitFor();
          expect(await button(page, /Open|Close/).count()).toBe(0);
        },
        { key: 'read@*' },
      ),
    );
  });

  test('a queue tells in which it is, in the list and on its screen, and what is away is told', async () => {
    await enqueue('placed');
    await until(async () => (await root('GET', '/overview')).body.queues.length > 0, { withinMs: 170_000 });
    await withSeveral(() =>
      visit('#/', async (page) => {
        const row = page.getByRole('row', { name: /^placed/ });
        await row.getByRole('link', { name: 'east' }).waitFor();
        await page.getByRole('status').getByText('Without what is in west: away.').waitFor();
        expect(await axeFindings(page)).toEqual([]);
        await row.getByRole('link', { name: 'placed' }).click();
        await heading(page, 'placed');
        await page.getByRole('link', { name: 'east' }).waitFor();
        await page.goto(`${at.base}/#/jobs`);
        await page.getByRole('status').getByText('Without what is in west: away.').waitFor();
      }),
    );
  });
});
