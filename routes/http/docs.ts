import type { FastifyBaseLogger, FastifyError } from 'fastify';
import { namedSchemas } from '../schemas/named.ts';
import { type App, createApp } from './fastify.ts';
import { openApi } from './openapi.ts';
import { toOpenApi30 } from './openapi30.ts';
import { handleError, routeNotFound } from './problems.ts';
import { isOverTls, pageHeaders } from './safeHeaders.ts';

/** A second app with the same routes. It serves the OpenAPI document and Swagger UI. */
export async function describingApp(
  addRoutes: (app: App) => void,
  logger: FastifyBaseLogger,
  isTls = false,
): Promise<App> {
  const [{ default: helmet }, { default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/helmet'),
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const app = createApp(logger);
  // The plugins refuse a path that leads out of their folder with a 4xx of their own.
  app.setErrorHandler((error: FastifyError, request, reply) =>
    (error.statusCode ?? 500) < 500 ? routeNotFound(request, reply) : handleError(error, request, reply),
  );
  app.setNotFoundHandler(routeNotFound);
  for (const schema of namedSchemas) app.addSchema(schema);
  await app.register(helmet, pageHeaders(isTls));
  await app.register(swagger, openApi);
  await app.register(swaggerUi, { routePrefix: '/docs' });
  addRoutes(app);
  const serve = (url: string, make: () => object) =>
    app.get(url, { schema: { hide: true } }, async (_, reply) =>
      reply.type('application/json').send(JSON.stringify(make())),
    );
  serve('/openapi.json', () => app.swagger());
  serve('/openapi-3.0.json', () => toOpenApi30(app.swagger()));
  await app.ready();
  return app;
}

/**
 * Serves the OpenAPI document and Swagger UI. Their code is loaded at the first request for them: it takes 10 MB, and
 * most replicas never get such a request.
 */
export function docsRoutes(app: App, addRoutes: (app: App) => void): void {
  let describing: Promise<App> | undefined;
  for (const url of ['/openapi.json', '/openapi-3.0.json', '/docs', '/docs/*'])
    app.route({
      method: 'GET',
      url,
      config: { verb: 'none' },
      schema: { hide: true },
      handler: async (request, reply) => {
        describing ??= describingApp(addRoutes, app.log, isOverTls(app)).catch((error) => {
          describing = undefined;
          throw error;
        });
        const { routing } = await describing;
        for (const [name, value] of Object.entries(reply.getHeaders()))
          if (value !== undefined) reply.raw.setHeader(name, value);
        reply.hijack();
        routing(request.raw, reply.raw);
      },
    });
}
