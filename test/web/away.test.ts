import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, launch, openTab } from '../support/browser.ts';
import { unreliablePostgres } from '../support/postgres.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** The console tells of each answer from 400 on, and of each that does not come. */
const AWAY = /status of (401|404|503)|ERR_CONNECTION|ERR_EMPTY|ERR_NETWORK|ERR_SOCKET/;

let postgres: Awaited<ReturnType<typeof unreliablePostgres>>;
let replica: Replica;
let browser: Browser;
beforeAll(async () => {
  if (!hasBrowser) return;
  [postgres, browser] = await Promise.all([unreliablePostgres(), launch()]);
  replica = await startReplica({ DATABASE_URL: postgres.url });
});
afterAll(async () => {
  await browser?.close();
  postgres?.thaw();
  await replica?.end('SIGKILL');
  await postgres?.remove();
});

describe.skipIf(!hasBrowser)('a page that is open', () => {
  test('keeps its numbers while the database is away, and while Dibs is, says so, and goes on by itself', async () => {
    await http(replica.url, 'POST', '/jobs', { queue: 'mail' });
    const { page, errors } = await openTab(browser, { expected: AWAY });
    await page.goto(`${replica.url}/#/queues/mail`);
    await page.getByText('A job is ready.').waitFor();

    await postgres.stop();
    await page.getByText(/Not up to date/).waitFor({ timeout: 60_000 });
    await page.getByText('A job is ready.').waitFor();
    await postgres.start();
    await page.getByText(/Not up to date/).waitFor({ state: 'detached', timeout: 60_000 });

    const { port } = new URL(replica.url);
    await replica.end('SIGKILL');
    await page.getByText(/Dibs cannot be reached/).waitFor({ timeout: 60_000 });
    await page.getByText('A job is ready.').waitFor();
    replica = await startReplica({ DATABASE_URL: postgres.url, PORT: port });
    await page.getByText(/Dibs cannot be reached/).waitFor({ state: 'detached', timeout: 60_000 });
    expect(errors).toEqual([]);
    await page.context().close();
  });

  test('asks for a key when one is needed, keeps it in the tab, rotates it, and asks anew when it is revoked', async () => {
    const { page, errors } = await openTab(browser, { expected: AWAY });
    await page.goto(`${replica.url}/#/keys`);
    await page.getByRole('button', { name: 'Create a key…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Name/).fill('ada');
    await dialog.getByRole('button', { name: 'Create' }).click();
    const key = (await dialog.locator('.secret').textContent()) as string;
    expect(key).toMatch(/^dibs_/);
    // From the first key on, every request needs one. The page goes on with it, so nobody loses it.
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('rowheader', { name: 'ada' }).waitFor();

    const other = await openTab(browser, { expected: AWAY });
    await other.page.goto(`${replica.url}/#/keys`);
    const field = other.page.getByLabel('Access key');
    const look = other.page.getByRole('button', { name: 'Sign in' });
    await field.fill('dibs_wrong');
    await look.click();
    await other.page.getByRole('alert').waitFor();
    await field.fill(key);
    await look.click();
    await other.page.getByRole('rowheader', { name: 'ada' }).waitFor();
    await other.page.reload();
    await other.page.getByRole('rowheader', { name: 'ada' }).waitFor();
    expect(await other.page.evaluate('[localStorage.length, document.cookie]')).toEqual([0, '']);
    await other.page.getByRole('button', { name: 'Change key' }).click();
    await other.page.getByRole('button', { name: 'Sign out' }).click();
    await field.waitFor();
    await other.page.context().close();

    // Its own key, without an overlap: the page goes on with the new secret, and shows it.
    await page.getByRole('button', { name: 'Rotate…' }).click();
    await dialog.getByLabel(/^Old secret valid/).fill('0');
    await dialog.getByRole('button', { name: 'Rotate the key' }).click();
    const rotated = (await dialog.locator('.secret').textContent()) as string;
    expect(rotated).not.toBe(key);
    await dialog.getByRole('button', { name: 'I have saved it' }).click();
    await page.getByRole('rowheader', { name: 'ada' }).waitFor();
    const headersOf = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } });
    await until(
      async () => (await http(replica.url, 'GET', '/keys', undefined, headersOf(key))).status === 401,
    );

    const authorization = { authorization: `Bearer ${rotated}` };
    const { body } = await http(replica.url, 'GET', '/keys', undefined, { headers: authorization });
    await http(replica.url, 'DELETE', `/keys/${body.keys[0].id}`, undefined, { headers: authorization });
    await page.getByLabel('Access key').waitFor({ timeout: 60_000 });
    await page.getByText(/is not valid/).waitFor();
    expect([...errors, ...other.errors]).toEqual([]);
    await page.context().close();
  });
});
