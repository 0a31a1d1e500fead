import type { FastifyBaseLogger, FastifyError } from 'fastify';
import { type App, createApp } from '../connection/fastify.ts';
import { pageHeaders } from '../security/safeHeaders.ts';
import { handleError, routeNotFound } from './problems.ts';

/** A second app, for web pages. Its answers have the headers of pages. */
export async function createPages(logger: FastifyBaseLogger, isTls: boolean): Promise<App> {
  const { default: helmet } = await import('@fastify/helmet');
  const app = createApp(logger);
  // The plugins refuse a path that leads out of their folder with a 4xx of their own.
  app.setErrorHandler((error: FastifyError, request, reply) =>
    (error.statusCode ?? 500) < 500 ? routeNotFound(request, reply) : handleError(error, request, reply),
  );
  app.setNotFoundHandler(routeNotFound);
  await app.register(helmet, pageHeaders(isTls));
  return app;
}

/**
 * Serves these paths from a second app. It is made at the first request for one of them: its code takes memory, and most
 * replicas never get such a request.
 */
export function lazily(app: App, urls: string[], make: () => Promise<App>): void {
  let pages: Promise<App> | undefined;
  for (const url of urls)
    app.route({
      method: 'GET',
      url,
      config: { verb: 'none' },
      schema: { hide: true },
      handler: async (request, reply) => {
        pages ??= make().catch((error) => {
          pages = undefined;
          throw error;
        });
        const { routing } = await pages;
        for (const [name, value] of Object.entries(reply.getHeaders()))
          if (value !== undefined) reply.raw.setHeader(name, value);
        reply.hijack();
        routing(request.raw, reply.raw);
      },
    });
}
