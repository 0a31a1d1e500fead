import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';

/** Where Debian and others put Chromium. CHROMIUM names another place. */
const PLACES = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = PLACES.find((place) => place && existsSync(place));

/** Whether tests in a browser can run here. On CI they must. */
export const hasBrowser = executablePath !== undefined || process.env.CI === 'true';

export const launch = (): Promise<Browser> =>
  chromium.launch({
    ...(executablePath ? { executablePath } : {}),
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
  });

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface Watched {
  page: Page;
  /** What the console said that no page should say: errors, and what the policy refused. */
  errors: string[];
  /** The origins of all requests. */
  origins: Set<string>;
}

/** A tab of its own. `expected` are errors that the test causes: the console tells of each answer from 400 on. */
export async function openTab(
  browser: Browser,
  {
    width = 1280,
    isDark = false,
    expected = /^$/,
  }: { width?: number; isDark?: boolean; expected?: RegExp } = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: isDark ? 'dark' : 'light',
    locale: 'en',
    timezoneId: 'Europe/Berlin',
  });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  const origins = new Set<string>();
  page.on('console', (message) => {
    const text = `${message.text()} ${message.location().url}`;
    if (['error', 'warning'].includes(message.type()) && !expected.test(text)) errors.push(text);
  });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('request', (request) => origins.add(new URL(request.url()).origin));
  return { page, errors, origins };
}

/** What axe finds wrong on the page as it is. */
export async function axeFindings(page: Page): Promise<string[]> {
  // It comes through the debugger, past the policy of the page. Another place on the page is the same document.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe);
  return page.evaluate(async () => {
    const found = await (
      globalThis as unknown as {
        axe: { run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> };
      }
    ).axe.run();
    return found.violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  });
}
