import { fileURLToPath } from 'node:url';
import type { App } from '../connection/fastify.ts';
import { isOverTls } from '../security/safeHeaders.ts';
import { createPages, lazily } from './pageApp.ts';

/** The built page. Dibs runs from dist/, and in tests from its sources. */
const BUILT = import.meta.url.endsWith('.ts') ? '../../../dist/web/' : '../../../web/';
const root = fileURLToPath(new URL(BUILT, import.meta.url));

/** The names of the files have hashes of their contents. Only the page itself keeps its name. */
const ASSETS = {
  root: `${root}dashboard/`,
  prefix: '/dashboard/',
  index: false,
  maxAge: '365d',
  immutable: true,
} as const;

async function createDashboard(app: App): Promise<App> {
  const { default: files } = await import('@fastify/static');
  const pages = await createPages(app.log, isOverTls(app));
  await pages.register(files, { ...ASSETS, preCompressed: true });
  pages.get('/', { schema: { hide: true } }, (_, reply) =>
    reply.sendFile('index.html', root, { maxAge: 0, immutable: false }),
  );
  await pages.ready();
  return pages;
}

/** Serves the dashboard at `/`. It is a page without data: it asks the API, with the key of whoever looks at it. */
export function dashboardRoutes(app: App): void {
  lazily(app, ['/', '/dashboard/*'], () => createDashboard(app));
}
