import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, dialog, EVERYTHING, useDashboard } from '../support/dashboard.ts';
import { until } from '../support/until.ts';

const ODD = '{"amount": 12345678901234567890,"dup":1,"dup":2,"quote":"it\'s"}';
const REFUSED = /status of 40[0-9]/;

const { at, root, enqueue, bury, visit } = useDashboard();

/** What the button puts into the clipboard. */
async function curl(page: Page, name = 'Copy as curl'): Promise<string> {
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const from = (await dialog(page).count()) > 0 ? dialog(page) : page;
  await from.getByRole('button', { name, exact: true }).first().click();
  return page.evaluate<string>('navigator.clipboard.readText()');
}

/** Runs a copied command as somebody would in a shell. */
async function inShell(command: string): Promise<string> {
  const env = { PATH: process.env.PATH, DIBS_KEY: EVERYTHING };
  return (await promisify(execFile)('bash', ['-c', command], { env, timeout: 60_000 })).stdout;
}

describe.skipIf(!hasBrowser)('a job is enqueued on the page', () => {
  test('JSON is checked as it is typed; the payload goes as it was typed; the copied curl does the same', async () => {
    await enqueue('forms');
    await visit(
      '#/queues/forms',
      async (page) => {
        await button(page, 'Enqueue a job…').click();
        const form = dialog(page);
        const send = form.getByRole('button', { name: 'Enqueue', exact: true });
        await form.getByLabel('Payload').fill('{"amount":');
        await form.getByText('Not valid JSON').waitFor();
        expect([await send.isDisabled(), await form.getByText('Copy as curl').count()]).toEqual([true, 0]);
        await form.getByLabel('Payload').fill(ODD);
        await form.getByText('Options').click();
        await form.getByLabel('Headers').fill('{"tenant": 7}');
        await form.getByText('must be an object of strings').waitFor();
        await form.getByLabel('Headers').fill('{"tenant": "a"}');
        // What only the service knows is told at its field.
        await form.getByLabel('Priority').fill('101');
        await send.click();
        await until(async () => (await form.getByLabel('Priority').getAttribute('aria-invalid')) === 'true');
        await form.getByLabel('Priority').fill('7');
        await form.getByLabel('Queue').fill('no spaces');
        await send.click();
        await form.getByText(/^The name must/).waitFor();
        await form.getByLabel('Queue').fill('forms');
        expect(await axeFindings(page)).toEqual([]);
        await send.click();
        const id = (await form.getByRole('status').getByRole('link').textContent()) as string;
        const copied = await curl(page);
        expect(copied).not.toContain(EVERYTHING);
        const again = JSON.parse(await inShell(copied)).id;
        for (const made of [id, again]) {
          const { body } = await root('GET', `/jobs/${made}?payload_format=text`);
          expect(body).toMatchObject({ payload_text: ODD, priority: 7, headers: { tenant: 'a' } });
        }
      },
      { expected: REFUSED },
    );
  });

  test('a job that a unique key keeps out is told from one that was enqueued', async () => {
    await enqueue('once', { unique_key: 'k' });
    await visit('#/queues/once', async (page) => {
      await button(page, 'Enqueue a job…').click();
      await dialog(page).getByText('Options').click();
      await dialog(page).getByLabel('Unique key').fill('k');
      await dialog(page).getByRole('button', { name: 'Enqueue', exact: true }).click();
      await dialog(page).getByText('Not enqueued').waitFor();
    });
  });

  test('by a key that may not enqueue, it is not offered', async () => {
    await enqueue('forms');
    await visit(
      '#/queues/forms',
      async (page) => {
        await page.getByText('A job is ready.').waitFor();
        expect(await button(page, 'Enqueue a job…').count()).toBe(0);
      },
      { key: 'read@*' },
    );
  });
});

describe.skipIf(!hasBrowser)('a schedule is created on the page', () => {
  test('its cron is checked as it is typed, with the next runs; one that is there already is not replaced', async () => {
    await root('PUT', '/schedules/taken', { cron: '0 0 1 1 *', job: { queue: 'q' } });
    await visit(
      '#/schedules',
      async (page) => {
        await button(page, 'New schedule…').click();
        const form = dialog(page);
        const create = form.getByRole('button', { name: 'Create' });
        await form.getByLabel('Name').fill('taken');
        await form.getByLabel('Queue').fill('reports');
        await form.getByLabel('Cron').fill('61 * * * *');
        await form.getByText('has "61" where the minute stands').waitFor();
        expect(await create.isDisabled()).toBe(true);
        await form.getByLabel('Cron').fill('30 6 * * *');
        await form.getByLabel('Time zone').fill('Mars/Olympus');
        await form.getByText('No such time zone.').waitFor();
        await form.getByLabel('Time zone').fill('America/New_York');
        await form.getByText(/Next runs: .*06:30:00/).waitFor();
        await form.getByLabel('Payload').fill(ODD);
        await create.click();
        await form.getByText('There is a schedule "taken" already.').waitFor();
        await form.getByLabel('Name').fill('nightly');
        const copied = await curl(page);
        await create.click();
        await page.getByRole('link', { name: 'nightly' }).waitFor();
        const made = (await root('GET', '/schedules/nightly')).text;
        expect(made).toContain(ODD);
        expect((await root('GET', '/schedules/taken')).body.cron).toBe('0 0 1 1 *');
        await inShell(copied);
        expect((await root('GET', '/schedules/nightly')).text).toBe(made);
      },
      { expected: REFUSED },
    );
  });
});

describe.skipIf(!hasBrowser)('each action', () => {
  test('can be copied as curl, with the name of the key only: on a queue, a job, a schedule', async () => {
    const [id = ''] = await bury('acts', 'boom', 1);
    await root('PUT', '/schedules/acted', { cron: '0 0 1 1 *', job: { queue: 'acts' } });
    await visit('#/queues/acts', async (page) => {
      await button(page, 'Pause…').click();
      await inShell(await curl(page));
      expect((await root('GET', '/queues/acts')).body.paused).toBe(true);
      await dialog(page).getByRole('button', { name: 'Back' }).click();
      await button(page, 'Resume').waitFor();
      await inShell(await curl(page, 'curl'));
      expect((await root('GET', '/queues/acts')).body.paused).toBe(false);
      await page.goto(`${at.base}/#/jobs/${id}`);
      await button(page, 'Retry').waitFor();
      const retry = await curl(page, 'curl');
      expect(retry).toBe(
        `curl -sS --fail-with-body -X POST '${at.base}/jobs/${id}/retry' \\\n  -H "Authorization: Bearer $DIBS_KEY"`,
      );
      await inShell(retry);
      expect((await root('GET', `/jobs/${id}`)).body.state).toBe('ready');
      await page.goto(`${at.base}/#/schedules`);
      await page
        .getByRole('row', { name: /^acted/ })
        .getByRole('button', { name: 'Pause…' })
        .click();
      await inShell(await curl(page));
      expect((await root('GET', '/schedules/acted')).body.paused).toBe(true);
    });
  });
});

describe.skipIf(!hasBrowser)('where there is nothing yet', () => {
  test('the page says what to do: three requests that work as they are copied, and a worker', async () => {
    await visit('#/queues/first', async (page) => {
      const steps = page.getByLabel('First steps').locator('pre');
      await steps.first().waitFor();
      const [enqueued = '', claim = '', ack = '', worker = ''] = await steps.allTextContents();
      expect(JSON.parse(await inShell(enqueued))).toMatchObject({ queue: 'first', state: 'ready' });
      const [job] = JSON.parse(await inShell(claim)).jobs;
      const done = await inShell(ack.replace('/ID/', `/${job.id}/`).replace('TOKEN', job.lease_token));
      expect(JSON.parse(done).state).toBe('completed');
      expect(worker).toMatch(/^DIBS_URL=http.* dibs work first -- cat$/);
    });
  });
});
