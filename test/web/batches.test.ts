import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, dialog, heading, useDashboard } from '../support/dashboard.ts';
import { until } from '../support/until.ts';

const { at, root, enqueue, visit } = useDashboard();

interface Leased {
  id: string;
  lease_token: string;
}

/** A batch with jobs of a queue, and followers into another one. Returns its id. */
async function batchOf(queue: string, jobs: number, more: object = {}): Promise<string> {
  const { body } = await root('POST', '/batches', {
    queue,
    jobs: Array.from({ length: jobs }, () => ({ queue })),
    ...more,
  });
  return body.id;
}
const FOLLOWERS = { on_success: { queue: 'after' }, on_end: { queue: 'after' } };

const claim = async (queue: string, limit: number): Promise<Leased[]> =>
  (await root('POST', '/jobs/claim', { queues: [queue], limit, lease_seconds: 600 })).body.jobs;
const settle = (leased: Leased[], how: 'acks' | 'nacks', more: object = {}) =>
  root('POST', '/jobs/settle', {
    [how]: leased.map(({ id, lease_token }) => ({ id, lease_token, ...more })),
  });
const look = async (id: string) => (await root('GET', `/batches/${id}`)).body;

const rows = (page: Page) => page.getByLabel('Batches').locator('[data-row]');
const bar = (page: Page, says: string) => page.getByRole('img', { name: `Jobs by state: ${says}` });
const progress = (page: Page, says: string) => page.getByRole('status').filter({ hasText: says }).waitFor();

describe.skipIf(!hasBrowser)('the list of batches', () => {
  test('shows how far each is, and those of a queue and of a state', async () => {
    const id = await batchOf('pages', 4, { name: 'issue 12' });
    await batchOf('other', 0, { closed: true, name: 'nothing to do' });
    const nameless = await batchOf('pages', 0);
    const [first, ...others] = await claim('pages', 3);
    await settle([first as Leased], 'nacks', { retry: false });
    await settle(others, 'acks');
    await visit('#/batches', async (page) => {
      const row = rows(page).filter({ hasText: 'issue 12' });
      await row.getByText('3 of 4').waitFor();
      await bar(page, '2 completed, 1 dead, 1 ready').waitFor();
      await rows(page).getByRole('link', { name: nameless }).waitFor();
      await rows(page).filter({ hasText: 'nothing to do' }).getByText('succeeded').waitFor();
      expect(await axeFindings(page)).toEqual([]);

      await page.getByRole('combobox', { name: 'State' }).selectOption('succeeded');
      await page.waitForURL(/#\/batches\?state=succeeded$/);
      await until(async () => (await rows(page).count()) === 1);
      await page.getByLabel('Queue', { exact: true }).fill('pages');
      await page.waitForURL(/queue=pages/);
      await page.getByText('No batches match.').waitFor();
      await page.getByRole('combobox', { name: 'State' }).selectOption('any');
      await until(async () => (await rows(page).count()) === 2);

      // Dead jobs are told beside the state, and lead to themselves.
      await row.getByRole('link', { name: '1 dead' }).click();
      await page.waitForURL(new RegExp(`#/batches/${id}\\?state=dead$`));
      await page.getByLabel('Jobs', { exact: true }).getByRole('link', { name: first?.id }).waitFor();
    });
  });

  test('has pages, and the keyboard walks and opens', async () => {
    for (let n = 0; n < 51; n++) await batchOf('long', 0, { name: `part ${n}` });
    await visit('', async (page) => {
      await heading(page, 'Queues');
      await page.keyboard.press('g');
      await page.keyboard.press('b');
      await heading(page, 'Batches');
      await page.keyboard.press('/');
      await page.keyboard.type('long');
      await page.keyboard.press('Enter');
      await until(async () => (await rows(page).count()) === 50);
      await button(page, 'Next').click();
      await page.getByText('Page 2').waitFor();
      await until(async () => (await rows(page).count()) === 1);
      await page.keyboard.press('Escape');
      await button(page, 'Next').blur();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await heading(page, 'part 0');
    });
  });
});

describe.skipIf(!hasBrowser)('a batch', { concurrent: true }, () => {
  test.each([
    [1280, true],
    [390, false],
  ])('fits on a screen of %i pixels, dark %s, with a long name and large numbers', async (width, isDark) => {
    const queue = `wide-${width}`;
    const name = 'x'.repeat(256);
    const id = await batchOf(queue, 2, { name });
    const [dead] = await claim(queue, 1);
    await settle([dead as Leased], 'nacks', { retry: false, error: 'y'.repeat(300) });
    const fits = async (page: Page) => {
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      expect(await axeFindings(page)).toEqual([]);
    };
    await visit(
      `#/batches?queue=${queue}`,
      async (page) => {
        await page.getByRole('link', { name }).waitFor();
        await fits(page);
        await page.route(
          (url) => url.pathname === `/batches/${id}`,
          async (route) => {
            const counts = { ready: 123_456_789, leased: 1, completed: 876_543_210, dead: 1 };
            const answer = await (await route.fetch()).json();
            await route.fulfill({ json: { ...answer, counts: { ...answer.counts, ...counts } } });
          },
        );
        await page.goto(`${at.base}/#/batches/${id}?state=dead`);
        await progress(page, '876,543,211 of 1,000,000,001 finished');
        await page.getByRole('link', { name: dead?.id }).waitFor();
        await fits(page);
        // A part with few jobs is seen.
        expect((await page.locator('.statebar .part.dead').boundingBox())?.width).toBeGreaterThan(3);
      },
      { width, isDark },
    );
  });

  test('tells how far it is while its jobs are acked, what it waits for, and what may follow; it is closed, and ends', async () => {
    const id = await batchOf('book', 3, { name: 'book 7', ...FOLLOWERS });
    await visit(`#/batches/${id}`, async (page) => {
      await heading(page, 'book 7');
      await page.getByText('Jobs are unfinished: 3 ready.').waitFor();
      await bar(page, '3 ready').waitFor();
      await page.getByText('when all jobs are completed').waitFor();
      expect(await axeFindings(page)).toEqual([]);

      const [first, ...others] = await claim('book', 3);
      await progress(page, '0 of 3 finished');
      await bar(page, '3 leased').waitFor();
      await settle([first as Leased], 'acks');
      await progress(page, 'open 1 of 3 finished');
      await bar(page, '1 completed, 2 leased').waitFor();

      await button(page, 'Close…').click();
      await dialog(page).getByText('It cannot be opened again.').waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await dialog(page).getByRole('button', { name: 'Close the batch' }).click();
      await progress(page, 'running 1 of 3 finished');
      expect(await button(page, 'Close…').count()).toBe(0);

      await settle(others, 'acks');
      await progress(page, 'succeeded 3 of 3 finished');
      await page.getByText('It waits for nothing.').waitFor();
      await page.getByText('Followers that may still be enqueued').locator('..').getByText('none').waitFor();
      expect(await button(page, 'Cancel…').count()).toBe(0);
      expect(await axeFindings(page)).toEqual([]);
    });
    expect((await root('GET', '/queues/after')).body.counts.ready).toBe(2);
  });

  test('has its jobs below, those of a state by a number; a dead one is retried there', async () => {
    const id = await batchOf('mend', 2, { closed: true, ...FOLLOWERS });
    const [dead] = await claim('mend', 1);
    await settle([dead as Leased], 'nacks', { retry: false, error: 'no such page' });
    await visit(`#/batches/${id}`, async (page) => {
      const jobs = page.getByLabel('Jobs', { exact: true }).locator('[data-row]');
      await until(async () => (await jobs.count()) === 2);
      const numbers = page.getByRole('region', { name: 'Jobs by state' });
      await numbers.getByRole('link', { name: /^dead 1/ }).click();
      await heading(page, id);
      await page.getByRole('heading', { name: 'Jobs that are dead' }).waitFor();
      await until(async () => (await jobs.count()) === 1);
      await jobs.getByText('no such page').waitFor();
      expect(await numbers.locator('[aria-current]').textContent()).toContain('dead');
      await page.getByLabel(`Select ${dead?.id}`).check();
      await button(page, 'Retry 1…').click();
      await dialog(page).getByRole('button', { name: 'Retry 1 job' }).click();
      await bar(page, '2 ready').waitFor();
      await page.getByRole('link', { name: 'All jobs of this batch' }).click();
      await until(async () => (await jobs.count()) === 2);
    });
  });

  test('is cancelled when the number of its waiting jobs is typed: leased ones go on, and nothing follows', async () => {
    const id = await batchOf('stop', 3, { ...FOLLOWERS, on_end: { queue: 'never' } });
    const [first] = await claim('stop', 1);
    await visit(`#/batches/${id}`, async (page) => {
      await button(page, 'Cancel…').click();
      const cancel = dialog(page).getByRole('button', { name: 'Cancel the batch' });
      await dialog(page).getByText('its jobs that wait: 2 jobs now').waitFor();
      expect(await cancel.isDisabled()).toBe(true);
      await dialog(page).getByLabel('Type 2 to confirm').fill('2');
      expect(await axeFindings(page)).toEqual([]);
      await cancel.click();
      await bar(page, '2 cancelled, 1 leased').waitFor();
      expect(await look(id)).toMatchObject({ followers: [], closed_at: expect.any(String) });
      await settle([first as Leased], 'acks');
      await progress(page, 'ended 3 of 3 finished');
    });
    expect((await root('GET', '/jobs?queue=never')).body.jobs).toEqual([]);
  });

  test('whose cancel takes long is watched meanwhile', async () => {
    const id = await batchOf('slow', 2);
    let answer = () => {};
    const isOver = new Promise<void>((resolve) => {
      answer = resolve;
    });
    await visit(`#/batches/${id}`, async (page) => {
      await page.route(`**/batches/${id}`, async (route) => {
        if (route.request().method() !== 'DELETE') return route.continue();
        const response = await route.fetch();
        await isOver;
        await route.fulfill({ response });
      });
      await button(page, 'Cancel…').click();
      await dialog(page).getByLabel('Type 2 to confirm').fill('2');
      await dialog(page).getByRole('button', { name: 'Cancel the batch' }).click();
      await dialog(page).waitFor({ state: 'detached' });
      await bar(page, '2 cancelled').waitFor();
      answer();
    });
  });

  test('that has ended with dead jobs is cancelled, too: then nothing follows their retry', async () => {
    const id = await batchOf('late', 1, { closed: true, on_success: { queue: 'never' } });
    await settle(await claim('late', 1), 'nacks', { retry: false });
    await visit(`#/batches/${id}`, async (page) => {
      await page.getByText('jobs dead.').waitFor();
      await button(page, 'Cancel…').click();
      await dialog(page).getByRole('button', { name: 'Cancel the batch' }).click();
      await page.getByText('The batch was cancelled: nothing follows its end.').waitFor();
      expect(await button(page, 'Cancel…').count()).toBe(0);
    });
    expect((await look(id)).followers).toEqual([]);
  });

  test.each([
    ['read@*', [], 'Read-only: to close it, a key needs the scope produce'],
    ['read,produce@*', ['Close…'], 'To cancel it, a key needs the scope admin for this queue.'],
    ['read,admin@kept', ['Close…', 'Cancel…'], 'Cancel…'],
  ])('offers a key %s what it may do, and says what it may not', async (key, offered, says) => {
    const id = await batchOf('kept', 1);
    await visit(
      `#/batches/${id}`,
      async (page) => {
        await page.getByText(says).waitFor();
        expect(await page.locator('.actions').getByRole('button').allTextContents()).toEqual(offered);
      },
      { key },
    );
  });

  test('that is not there says so, and one that is not there any more', async () => {
    await visit('#/batches/019aa5b2-7c1e-7a3f-9d2c-4b1e5f000001', async (page) => {
      await page.getByText('Batch not found.').waitFor();
      const id = await batchOf('brief', 0);
      await page.goto(`${at.base}/#/batches/${id}`);
      await page.getByText('It is open: more jobs may come.').waitFor();
      await root('DELETE', '/queues/brief?force=true');
      await page.getByText('Batch not found.').waitFor();
    });
  });
});

describe.skipIf(!hasBrowser)('a job of a batch', { concurrent: true }, () => {
  test('leads to its batch, and the list of jobs takes a batch as a filter', async () => {
    const id = await batchOf('mine', 2);
    await enqueue('mine');
    await visit(`#/jobs?batch=${id}`, async (page) => {
      const jobs = page.locator('[data-row]');
      await until(async () => (await jobs.count()) === 2);
      expect(await page.getByLabel('Batch', { exact: true }).inputValue()).toBe(id);
      await page.getByLabel('Worker').fill('w-1');
      await page.getByText('Jobs of a batch are filtered by state and queue only.').waitFor();
      await page.getByLabel('Worker').fill('');
      await jobs.getByRole('link').first().click();
      await page.getByText('into its batch').waitFor();
      await page.getByRole('link', { name: id }).click();
      await page.waitForURL(`${at.base}/#/batches/${id}`);
      await heading(page, id);
      await page.goto(`${at.base}/#/queues/mine/jobs?batch=${id}&state=ready`);
      await until(async () => (await jobs.count()) === 2);
      await page.getByText('Operations do not know batches').waitFor();
      expect(await button(page, 'Change all matching…').isDisabled()).toBe(true);
    });
  });

  test('that follows one leads there, too', async () => {
    const id = await batchOf('led', 0, { closed: true, on_end: { queue: 'led.after' } });
    const [follower] = (await root('GET', '/jobs?queue=led.after')).body.jobs;
    await visit(`#/jobs/${follower.id}`, async (page) => {
      await page.getByText('follows batch').waitFor();
      await page.getByRole('link', { name: id }).click();
      await heading(page, id);
    });
  });
});
