import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui';

/** Swagger UI, as a page of Dibs. */
export const swaggerPage: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  theme: { title: 'Dibs API' },
  uiConfig: {
    displayRequestDuration: true,
    defaultModelsExpandDepth: 0,
    docExpansion: 'list',
  },
};
