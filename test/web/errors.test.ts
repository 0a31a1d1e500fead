import { describe, expect, test } from 'vitest';
import { hasBrowser } from '../support/browser.ts';
import { button, dialog, useDashboard } from '../support/dashboard.ts';
import { until } from '../support/until.ts';

const { root, bury, enqueue, visit } = useDashboard();

describe.skipIf(!hasBrowser)('the errors of a queue', () => {
  test('are counted by reason; a reason leads to its jobs, and they are retried without the others', async () => {
    await bury('mail', 'SMTP 421 from 10.0.0.1', 2);
    await bury('mail', 'SMTP 450 from 10.0.0.2', 1);
    await bury('mail', 'no such user', 1);
    await visit('#/queues/mail', async (page) => {
      await page.getByRole('link', { name: 'Errors' }).click();
      const row = page.locator('[data-row]', { hasText: 'SMTP # from #.#.#.#' });
      expect(await row.locator('td.n').textContent()).toBe('3');
      await row.getByRole('link', { name: 'SMTP' }).click();
      await page.waitForURL(/jobs\?state=dead&error_contains=/);
      await until(async () => (await page.locator('[data-row]').count()) === 3);
      await page.goBack();
      await row.getByRole('button', { name: 'Retry these…' }).click();
      await dialog(page).getByRole('button', { name: 'Count first' }).click();
      await dialog(page).getByLabel('Type 3 to confirm').fill('3');
      await dialog(page).getByRole('button', { name: 'retry 3 jobs' }).click();
      await page.waitForURL(/#\/operations\//);
      await until(async () => (await root('GET', '/queues/mail')).body.counts.ready === 3);
      expect((await root('GET', '/queues/mail')).body.counts.dead).toBe(1);
    });
  });

  test('say so when there are none, and a key that may only read is not offered a retry', async () => {
    await enqueue('calm');
    await bury('sad', 'boom', 1);
    await visit(
      '#/queues/calm/errors',
      async (page) => {
        await page.getByText('No dead jobs.').waitFor();
        await page.goto(`${page.url().replace(/#.*/, '')}#/queues/sad/errors`);
        await page.locator('[data-row]', { hasText: 'boom' }).waitFor();
        expect(await button(page, 'Retry these…').count()).toBe(0);
      },
      { key: 'read@*' },
    );
  });
});
