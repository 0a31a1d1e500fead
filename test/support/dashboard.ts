import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { createSemaphore } from '../../src/postgres/semaphore.ts';
import { speakingAccess } from './access.ts';
import { hasBrowser, launch, openTab, type Watched } from './browser.ts';
import { type Service, startService } from './service.ts';

export const EVERYTHING = 'all@*';

/** The console tells of each answer from 400 on. A job or a queue may be gone. */
const MISSING = /status of 404/;

/** So many tabs at once. Most of the time their tests wait for a page that looks every few seconds. */
const TABS = 3;

export const heading = (page: Page, name: string | RegExp) =>
  page.getByRole('heading', { name, level: 1 }).waitFor();
export const button = (page: Page, name: string | RegExp) => page.getByRole('button', { name });
export const dialog = (page: Page) => page.getByRole('dialog');

/** A service and a browser for the tests of a file. `more` are options of the service. */
export function useDashboard(more?: () => Promise<Parameters<typeof startService>[0]>) {
  const at = {} as { service: Service; browser: Browser; base: string };
  beforeAll(async () => {
    if (!hasBrowser) return;
    [at.service, at.browser] = await Promise.all([
      startService({
        access: speakingAccess(),
        traceUrl: 'https://traces.example/{trace_id}',
        ...(await more?.()),
      }),
      launch(),
    ]);
    at.base = await at.service.listen();
  });
  afterAll(async () => {
    await at.browser?.close();
    await at.service?.stop();
  });

  const root = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown) =>
    at.service.call(method, path, body, { authorization: `Bearer ${EVERYTHING}` });

  const enqueue = async (queue: string, more: object = {}): Promise<string> =>
    (await root('POST', '/jobs', { queue, ...more })).body.id;

  /** Makes jobs dead, each by a nack. */
  async function bury(queue: string, error: string, jobs: number): Promise<string[]> {
    await root('POST', '/jobs/batch', { jobs: Array.from({ length: jobs }, () => ({ queue })) });
    const { body } = await root('POST', '/jobs/claim', { queues: [queue], limit: jobs, worker: 'w-1' });
    const nacks = body.jobs.map(({ id, lease_token }: { id: string; lease_token: string }) => ({
      id,
      lease_token,
      error,
      retry: false,
    }));
    await root('POST', '/jobs/settle', { nacks });
    return nacks.map(({ id }: { id: string }) => id);
  }

  const inTurn = createSemaphore(TABS);

  /** Opens the page at a place, and checks afterwards that the console was silent and that nobody else was asked. */
  const visit = (
    place: string,
    work: (page: Page, tab: Watched) => Promise<void>,
    { key = EVERYTHING, ...options }: { key?: string } & Parameters<typeof openTab>[1] = {},
  ): Promise<void> =>
    inTurn(async () => {
      const tab = await openTab(at.browser, { expected: MISSING, ...options });
      try {
        await tab.page.addInitScript(`sessionStorage.setItem('dibs-key', ${JSON.stringify(key)})`);
        await tab.page.goto(`${at.base}/${place}`);
        await work(tab.page, tab);
        expect(tab.errors).toEqual([]);
        expect([...tab.origins]).toEqual([at.base]);
      } finally {
        await tab.page.context().close();
      }
    });

  return { at, root, enqueue, bury, visit };
}
