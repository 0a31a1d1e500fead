import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, dialog, heading, useDashboard } from '../support/dashboard.ts';
import { until } from '../support/until.ts';

const { at, root, enqueue, bury, visit } = useDashboard();

/** What has the keyboard: the label of a field, or the text of a button. */
const focused = (page: Page) =>
  page.evaluate<string>(`(({ labels, tagName, textContent, ariaLabel }) =>
    labels?.[0]?.querySelector('.label')?.textContent ?? labels?.[0]?.textContent.trim().split(' ')[0] ??
    ariaLabel ?? (tagName === 'MAIN' ? tagName : textContent))(document.activeElement)`);

describe.skipIf(!hasBrowser)('the keyboard', () => {
  test.each([
    ['#/queues/focus', 'Enqueue a job…', 'Queue'],
    ['#/queues/focus', 'Pause…', 'Back'],
    ['#/queues/focus', 'Redrive…', 'Dead letters'],
    ['#/queues/focus', 'Purge…', 'scheduled'],
    ['#/queues/focus', 'Delete…', 'Type focus to confirm'],
    ['#/queues/focus/jobs', 'Retry 1…', 'Back'],
    ['#/schedules', 'New schedule…', 'Name'],
    ['#/keys', 'Create a key…', 'Name'],
  ])('at %s, behind "%s", begins at "%s"', async (place, opens, first) => {
    await bury('focus', 'boom', 1);
    await visit(place, async (page) => {
      if (opens.startsWith('Retry')) await page.getByLabel('Select all jobs on this page').check();
      await button(page, opens.startsWith('Retry') ? /^Retry \d+…/ : opens).click();
      await dialog(page).waitFor();
      expect(await focused(page)).toBe(first);
    });
  });

  test('has one way past the links of the head: to what the screen shows, which stays where it is', async () => {
    await enqueue('focus');
    await visit('#/queues/focus', async (page) => {
      await heading(page, 'focus');
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe('Skip to content');
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press('Enter');
      await until(async () => (await focused(page)) === 'MAIN');
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe('Queues');
      expect(page.url()).toBe(`${at.base}/#/queues/focus`);
      expect((await root('GET', '/queues/focus')).status).toBe(200);
    });
  });
});
