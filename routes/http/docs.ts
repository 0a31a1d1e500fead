import type { FastifyBaseLogger } from 'fastify';
import { namedSchemas } from '../schemas/named.ts';
import type { App } from './fastify.ts';
import { openApi } from './openapi.ts';
import { createPages, lazily } from './pages.ts';
import { isOverTls } from './safeHeaders.ts';
import { swaggerPage } from './swaggerPage.ts';

/** A second app with the same routes. It serves the OpenAPI document and Swagger UI. */
export async function describingApp(
  addRoutes: (app: App) => void,
  logger: FastifyBaseLogger,
  isTls = false,
): Promise<App> {
  const [{ default: swagger }, { default: swaggerUi }] = await Promise.all([
    import('@fastify/swagger'),
    import('@fastify/swagger-ui'),
  ]);
  const app = await createPages(logger, isTls);
  for (const schema of namedSchemas) app.addSchema(schema);
  await app.register(swagger, openApi);
  await app.register(swaggerUi, swaggerPage);
  addRoutes(app);
  app.get('/openapi.json', { schema: { hide: true } }, async (_, reply) =>
    reply.type('application/json').send(JSON.stringify(app.swagger())),
  );
  await app.ready();
  return app;
}

/** Serves the OpenAPI document and Swagger UI. */
export function docsRoutes(app: App, addRoutes: (app: App) => void): void {
  lazily(app, ['/openapi.json', '/docs', '/docs/*'], () => describingApp(addRoutes, app.log, isOverTls(app)));
}
