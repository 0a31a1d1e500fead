import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { hasBrowser } from '../support/browser.ts';
import { useDashboard } from '../support/dashboard.ts';

const { root, visit } = useDashboard();

const TURNED = '\u202egnp.exe';
const WRITTEN = '\\u202egnp.exe';

const widths = (page: Page) =>
  page.locator('table a').evaluateAll((links) => links.map((link) => link.getBoundingClientRect().width));

describe.skipIf(!hasBrowser)('what nobody sees', () => {
  test.each([
    ['   ', '"   "'],
    ['\u200b', '\\u200b'],
    [TURNED, WRITTEN],
  ])('in the name of a batch, %j, is written out, and the batch can be opened', async (name, shown) => {
    const { body } = await root('POST', '/batches', { queue: 'unseen', name });
    await visit('#/batches?queue=unseen', async (page) => {
      const link = page.locator(`table a[href$="${body.id}"]`);
      await link.waitFor();
      expect(await link.textContent()).toBe(shown);
      expect(Math.min(...(await widths(page)))).toBeGreaterThan(5);
      await link.click();
      await expect.poll(() => page.locator('h1').textContent(), { timeout: 10_000 }).toBe(shown);
      await page.getByRole('button', { name: 'Cancel…' }).click();
      expect(await page.getByRole('dialog').getAttribute('aria-label')).not.toContain('\u202e');
    });
  });

  test('is written out on every screen: groups, keys, headers, payloads, workers, errors, the audit', async () => {
    const queue = 'turned';
    const own = { group: TURNED, unique_key: TURNED, fairness_key: TURNED };
    const text = { headers: { [TURNED]: TURNED }, payload: TURNED };
    await root('POST', '/jobs', { queue, ...own, ...text });
    const { body } = await root('POST', '/jobs/claim', {
      queues: [queue],
      worker: TURNED,
      lease_seconds: 600,
    });
    const [{ id, lease_token }] = body.jobs;
    const screens: [string, string][] = [
      ['#/workers', WRITTEN],
      [`#/jobs?queue=${queue}`, `group ${WRITTEN}`],
      [`#/jobs/${id}`, WRITTEN],
    ];
    const look = async (page: Page, [place, says]: [string, string]) => {
      await page.goto(`${page.url().split('#')[0]}${place}`);
      await page.getByText(says).first().waitFor();
      expect(await page.content()).not.toContain('\u202e');
    };
    await visit('', async (page) => {
      for (const screen of screens) await look(page, screen);
      await root('POST', `/queues/${queue}/groups/${encodeURIComponent(TURNED)}/pause`);
      await root('POST', `/jobs/${id}/nack`, { lease_token, retry: false, error: TURNED });
      await look(page, [`#/queues/${queue}/errors`, WRITTEN]);
      await look(page, [`#/queues/${queue}`, WRITTEN]);
      await look(page, [`#/jobs/${id}`, WRITTEN]);
      await look(page, ['#/audit', `group ${WRITTEN}`]);
    });
  });
});
