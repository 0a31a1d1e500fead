import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, dialog, useDashboard } from '../support/dashboard.ts';
import { until } from '../support/until.ts';

const { at, root, enqueue, bury, visit } = useDashboard();

describe.skipIf(!hasBrowser)('a list of jobs', () => {
  test('jobs are selected, and retried or cancelled: these and no others', async () => {
    const [first = '', second = ''] = await bury('picked', 'boom', 3);
    const waiting = await enqueue('picked');
    const counts = async () => (await root('GET', '/queues/picked')).body.counts;
    await visit('#/queues/picked/jobs', async (page) => {
      await page.getByLabel(`Select ${first}`).check();
      await page.getByLabel(`Select ${waiting}`).check();
      await page.getByText('2 jobs selected').waitFor();
      // Of the selected jobs, only the dead one can be retried.
      await button(page, 'Retry 1…').click();
      await dialog(page).getByRole('button', { name: 'Retry 1 job' }).click();
      await dialog(page).waitFor({ state: 'detached' });
      expect(await counts()).toMatchObject({ dead: 2, ready: 2 });

      await page.getByLabel('Select all jobs on this page').check();
      await page.getByText('4 jobs selected').waitFor();
      await page.getByLabel(`Select ${second}`).uncheck();
      await button(page, 'Cancel 3…').click();
      expect(await axeFindings(page)).toEqual([]);
      await dialog(page).getByRole('button', { name: 'Cancel 3 jobs' }).click();
      await dialog(page).waitFor({ state: 'detached' });
      expect(await counts()).toMatchObject({ dead: 1, ready: 0 });
    });
  });

  test('what is refused of the selected jobs is told, and the others are changed', async () => {
    const [kept = '', gone = ''] = await bury('partly', 'boom', 2);
    await visit(
      '#/queues/partly/jobs',
      async (page) => {
        await page.getByLabel('Select all jobs on this page').check();
        await page.getByLabel('live', { exact: true }).uncheck();
        await button(page, 'Retry 2…').click();
        await root('DELETE', `/jobs/${gone}`);
        await dialog(page).getByRole('button', { name: 'Retry 2 jobs' }).click();
        await dialog(page).getByRole('alert').getByText('1 of 2 jobs changed.').waitFor();
        expect((await root('GET', `/jobs/${kept}`)).body.state).toBe('ready');
      },
      { expected: /status of 404/ },
    );
  });

  test('a key that may only read selects nothing', async () => {
    const [id = ''] = await bury('seen', 'boom', 1);
    await visit(
      '#/queues/seen/jobs',
      async (page) => {
        await page.getByRole('link', { name: id }).waitFor();
        expect(await page.getByRole('checkbox', { name: /Select/ }).count()).toBe(0);
      },
      { key: 'read@*' },
    );
  });

  test.each([1280, 390])(
    'shows the payload and the last error of each job on the screen, %i pixels wide',
    async (width) => {
      const queue = `listed-${width}`;
      await bury(queue, 'SMTP 421: no such mailbox\n    at send (mail.js:7)', 1);
      await root('POST', '/jobs', `{"queue":"${queue}","payload":{"n": 1.0, "long": "${'x'.repeat(5000)}"}}`);
      await visit(
        `#/queues/${queue}/jobs`,
        async (page) => {
          for (const [row, text] of [
            ['dead', 'SMTP 421: no such mailbox'],
            ['ready', '{"n": 1.0, "long": "xxx'],
          ] as const) {
            const cell = page.locator('[data-row]', { hasText: row }).getByText(text);
            await cell.waitFor();
            const box = await cell.boundingBox();
            expect((box?.x ?? width) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
            expect((await cell.textContent())?.length).toBeLessThan(200);
          }
          expect(await page.getByText('mail.js:7').count()).toBe(0);
        },
        { width },
      );
    },
  );

  test('has its filters folded, 390 pixels wide: they say which are set, a job is on the first screen, and / unfolds them', async () => {
    await bury('folded', 'boom', 2);
    await visit(
      '#/queues/folded/jobs?state=dead&error_contains=boom&order=oldest',
      async (page) => {
        const filters = page.getByText('Filters: state dead, error contains boom, oldest first');
        const row = page.locator('[data-row]').first();
        await row.waitFor();
        const box = await row.boundingBox();
        expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(800);
        const state = page.getByLabel('State');
        expect(await state.isVisible()).toBe(false);
        await page.keyboard.press('/');
        expect(await state.isVisible()).toBe(true);
        expect(await page.evaluate('document.activeElement.name')).toBe('group');
        await state.selectOption('any');
        await page.getByText('Filters: error contains boom, oldest first').waitFor();
        await page.keyboard.press('Escape');
        await page.getByText('Filters:').click();
        expect(await state.isVisible()).toBe(false);
        expect(await filters.count()).toBe(0);
      },
      { width: 390 },
    );
  });

  test('is searched as one types, also by payload, and tells what was looked through', async () => {
    const id = await enqueue('typed', { payload: { to: 'ada@example.com' } });
    await enqueue('typed', { payload: { to: 'bob@example.com' } });
    const rows = (page: Page) => page.locator('[data-row]');
    await visit('#/queues/typed/jobs', async (page) => {
      await until(async () => (await rows(page).count()) === 2);
      const field = page.getByLabel('Payload contains');
      await field.click();
      await page.keyboard.type('ada@', { delay: 20 });
      await page.waitForURL(/payload_contains=ada%40$/);
      await rows(page).getByRole('link', { name: id }).waitFor();
      expect(await rows(page).count()).toBe(1);
      await page.getByText('Searched 2 jobs of this queue').waitFor();
      // Whoever types stays in the field.
      await page.keyboard.type('nowhere');
      await page.getByText('No jobs match.').waitFor();
      expect(await field.inputValue()).toBe('ada@nowhere');
      // A link changes the fields.
      await page.goto(`${at.base}/#/queues/typed/jobs?payload_contains=bob`);
      await until(async () => (await field.inputValue()) === 'bob');
      await until(async () => (await rows(page).count()) === 1);
    });
  });

  test('of all queues says that a filter by payload needs a queue', async () => {
    await enqueue('typed', { payload: 'x' });
    await visit('#/jobs?payload_contains=x', async (page) => {
      await page.getByText('Choose a queue first').waitFor();
      await page.getByRole('textbox', { name: 'Queue', exact: true }).fill('typed');
      await page.locator('[data-row]').first().waitFor();
    });
  });
});

describe.skipIf(!hasBrowser)('the list of queues', () => {
  test('is searched as one types, and the field keeps what is typed', async () => {
    await enqueue('needle.in.hay');
    await enqueue('other');
    await visit('', async (page) => {
      const field = page.getByLabel("Part of a queue's name");
      await field.click();
      await page.keyboard.type('needle', { delay: 20 });
      await page.waitForURL(/#\/\?name=needle$/);
      const found = page.getByLabel('Queues by name');
      await found.getByRole('link', { name: 'needle.in.hay' }).waitFor();
      await page.keyboard.type('.in');
      await page.waitForURL(/name=needle\.in$/);
      expect(await field.inputValue()).toBe('needle.in');
      expect(await found.getByRole('link', { name: 'other' }).count()).toBe(0);
    });
  });
});
