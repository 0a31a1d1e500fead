import type { FastifyBaseLogger } from 'fastify';
import { namedSchemas } from '../../schemas/named.ts';
import { createPages, lazily } from '../answers/pageApp.ts';
import type { App } from '../connection/fastify.ts';
import { isOverTls } from '../security/safeHeaders.ts';
import { openApi } from './openapi.ts';
import { toOpenApi30 } from './openapi30.ts';
import { queuesFileSchema } from './queuesFileSchema.ts';
import { swaggerPage } from './swaggerPage.ts';

/** A second app with the same routes. It serves the OpenAPI document, Swagger UI, and the schema of queues files. */
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
  const serve = (url: string, make: () => object) =>
    app.get(url, { schema: { hide: true } }, async (_, reply) =>
      reply.type('application/json').send(JSON.stringify(make())),
    );
  serve('/openapi.json', () => app.swagger());
  serve('/openapi-3.0.json', () => toOpenApi30(app.swagger()));
  serve('/queues.schema.json', queuesFileSchema);
  await app.ready();
  return app;
}

/** Serves what `describingApp` has. */
export function docsRoutes(app: App, addRoutes: (app: App) => void): void {
  const urls = ['/openapi.json', '/openapi-3.0.json', '/queues.schema.json', '/docs', '/docs/*'];
  lazily(app, urls, () => describingApp(addRoutes, app.log, isOverTls(app)));
}
