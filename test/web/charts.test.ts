import { describe, expect, test } from 'vitest';
import { chartStart } from '../../web/src/chartStart.ts';
import { hasBrowser } from '../support/browser.ts';
import { button, useDashboard } from '../support/dashboard.ts';

const { enqueue, visit } = useDashboard();

test.each([
  ['older numbers', 0, 5, 700],
  ['newer numbers only', 880, 5, 880],
  ['the numbers of an instant', 999, 5, 940],
  ['no numbers', undefined, 5, 700],
])('a chart of %s begins where it has something to show', (_, first, minutes, expected) =>
  expect(chartStart(first, minutes, 1000)).toBe(expected),
);

describe.skipIf(!hasBrowser)('the charts', () => {
  test('show 5, 15 or 60 minutes or 24 hours, of all queues and of one, and the tab keeps the choice', async () => {
    await enqueue('charted');
    const chart = (spoken: string) => ({ name: new RegExp(`^Jobs, ${spoken}\\. Now: waiting`) });
    await visit('', async (page) => {
      await page.getByRole('img', chart('the last hour')).waitFor();
      await page.getByRole('button', { name: '5 min', exact: true }).click();
      await page.getByRole('img', chart('the last 5 minutes')).waitFor();
      const asked = page.waitForResponse((answer) => answer.url().includes('overview/samples?minutes=1440'));
      await button(page, '24 h').click();
      expect((await asked).status()).toBe(200);
      await page.getByRole('link', { name: 'charted' }).click();
      await page.getByRole('img', chart('the last 24 hours')).waitFor();
      expect(await button(page, '24 h').getAttribute('aria-pressed')).toBe('true');
    });
  });
});
