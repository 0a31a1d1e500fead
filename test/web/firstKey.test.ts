import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasBrowser, launch, openTab } from '../support/browser.ts';
import { type Service, startService } from '../support/service.ts';

/** The console tells of each answer from 400 on. */
const REFUSED = /status of 40[13]/;

let service: Service;
let browser: Browser;
let base: string;
beforeAll(async () => {
  if (!hasBrowser) return;
  [service, browser] = await Promise.all([startService(), launch()]);
  base = await service.listen();
});
afterAll(async () => {
  await browser?.close();
  await service?.stop();
});

const button = (page: Page, name: string) => page.getByRole('button', { name });
const field = (page: Page) => page.getByLabel('Access key');

async function enter(page: Page, key: string): Promise<void> {
  await field(page).fill(key);
  await button(page, 'Sign in').click();
}

/** Creates a key on the screen of keys, and returns it. */
async function create(page: Page, name: string, scopes: string[] = []): Promise<string> {
  await button(page, 'Create a key…').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel(/^Name/).fill(name);
  for (const scope of scopes) await dialog.getByRole('checkbox', { name: new RegExp(`^${scope}`) }).check();
  await dialog.getByRole('button', { name: 'Create' }).click();
  const key = (await dialog.locator('.secret').textContent()) as string;
  await dialog.getByRole('button', { name: 'I have saved it' }).click();
  return key;
}

describe.skipIf(!hasBrowser)('keys', () => {
  test('the first one has admin for all queues, so it locks nobody out; another can take its place in the tab, or not', async () => {
    const { page, errors } = await openTab(browser, { expected: REFUSED });
    await page.goto(`${base}/#/keys`);
    // Nobody needs a key yet, and yet one may be entered.
    await button(page, 'Change key').click();
    await field(page).waitFor();
    await button(page, 'Back').click();

    await button(page, 'Create a key…').click();
    const admin = page.getByRole('dialog').getByRole('checkbox', { name: /^admin/ });
    expect([await admin.isChecked(), await admin.isDisabled()]).toEqual([true, true]);
    expect(
      await page
        .getByRole('dialog')
        .getByLabel(/^Queues/)
        .count(),
    ).toBe(0);
    await button(page, 'Back').click();
    const root = await create(page, 'root');
    await page.getByRole('rowheader', { name: 'root' }).waitFor();

    // Others need not have it.
    const producer = await create(page, 'producer', ['produce']);
    await page.getByRole('rowheader', { name: 'producer' }).waitFor();
    await button(page, 'Change key').click();
    await enter(page, producer);
    await page.getByText(/does not have the scope "read"/).waitFor();
    await button(page, 'Back').click();
    await page.getByRole('rowheader', { name: 'producer' }).waitFor();

    // A tab whose key may look at nothing has a way to another key.
    const other = await openTab(browser, { expected: REFUSED });
    await other.page.addInitScript(`sessionStorage.setItem('dibs-key', ${JSON.stringify(producer)})`);
    await other.page.goto(`${base}/#/keys`);
    await other.page.getByText(/does not have the scope "read"/).waitFor();
    await button(other.page, 'Change key').click();
    await enter(other.page, root);
    await other.page.getByRole('rowheader', { name: 'root' }).waitFor();

    // The last key that can make others is not revoked by the way.
    await page.getByRole('row', { name: /^root/ }).getByRole('button', { name: 'Revoke…' }).click();
    await page.getByText(/No other key can create keys/).waitFor();
    expect([...errors, ...other.errors]).toEqual([]);
    await page.context().close();
    await other.page.context().close();
  });
});
