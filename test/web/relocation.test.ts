import { afterAll, describe, expect, test } from 'vitest';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, dialog, heading, useDashboard } from '../support/dashboard.ts';
import { createOtherDatabase } from '../support/database.ts';

const made: Awaited<ReturnType<typeof createOtherDatabase>>[] = [];
const { root, visit } = useDashboard(async () => {
  const [east, west] = await Promise.all([createOtherDatabase(), createOtherDatabase()]);
  made.push(east, west);
  return { others: { east: east.url, west: west.url } };
});
afterAll(async () => {
  for (const database of made) await database.drop();
});

const placed = async (queue: string, database: string, jobs = 0) => {
  await root('PUT', `/queues/${queue}`, { database });
  for (let n = 0; n < jobs; n++) await root('POST', '/jobs', { queue, payload: n });
};
const databaseOf = async (queue: string) => (await root('GET', `/queues/${queue}`)).body.database;

describe.skipIf(!hasBrowser)('a queue', () => {
  test('is relocated to a chosen database, after it was told for how long calls wait', async () => {
    await placed('moves', 'east', 3);
    await visit('#/queues/moves', async (page) => {
      await button(page, 'Relocate…').click();
      const asks = dialog(page);
      await asks.getByLabel('To database').selectOption('west');
      await button(page, 'Count first').click();
      await asks.getByText(/^3 jobs. Calls will wait for about \d+ s/).waitFor();
      expect(await axeFindings(page)).toEqual([]);
      expect(await databaseOf('moves')).toBe('east');

      await button(page, 'Relocate to west').click();
      await heading(page, 'relocate to west');
      await page.getByText('3 of 3').last().waitFor();
      await page.getByText('done', { exact: true }).waitFor();
      await page.getByText(/^about \d+ s$/).waitFor();
      expect(await page.getByText('Filter').count()).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
    });
    expect(await databaseOf('moves')).toBe('west');
  });

  test('has another database chosen, which needs a count of its own', async () => {
    await placed('chooses', 'home');
    await visit('#/queues/chooses', async (page) => {
      await button(page, 'Relocate…').click();
      await button(page, 'Count first').click();
      await button(page, 'Relocate to east').waitFor();
      await dialog(page).getByLabel('To database').selectOption('west');
      await button(page, 'Count first').waitFor();
    });
  });

  test('whose relocation is refused stays, and the page says why', async () => {
    await placed('refused', 'east');
    await visit('#/queues/refused', async (page) => {
      await button(page, 'Relocate…').click();
      await button(page, 'Count first').click();
      await button(page, 'Relocate to home').waitFor();
      await root('DELETE', '/queues/refused');
      await button(page, 'Relocate to home').click();
      await dialog(page).getByRole('alert').getByText('refused').waitFor();
    });
  });

  test('is not offered a closed database', async () => {
    await placed('closed', 'home');
    for (const name of ['east', 'west']) await root('PUT', `/databases/${name}`, { accepts_queues: false });
    await visit('#/queues/closed', async (page) => {
      await button(page, 'Relocate…').click();
      await dialog(page).getByText('No other database is open for new queues.').waitFor();
      expect(await button(page, 'Count first').isDisabled()).toBe(true);
    });
    for (const name of ['east', 'west']) await root('PUT', `/databases/${name}`, { accepts_queues: true });
  });

  test('is relocated by its admins alone', async () => {
    await placed('read', 'east');
    await visit(
      '#/queues/read',
      async (page) => {
        await page.getByText('Read-only').waitFor();
        expect(await button(page, 'Relocate…').count()).toBe(0);
      },
      { key: 'read@*' },
    );
  });
});
