import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui';

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><title>Dibs</title>' +
  '<rect width="32" height="32" rx="7" fill="#2456c8"/><path d="M9 7h6.5C21 7 24 10.6 24 16s-3 9-8.5 9H9V7zm4 3.6v10.8' +
  'h2.3c3 0 4.6-1.9 4.6-5.4s-1.6-5.4-4.6-5.4H13z" fill="#fff"/></svg>';
const IMAGE = { type: 'image/svg+xml', content: LOGO };

/** Swagger UI, as a page of Dibs. */
export const swaggerPage: FastifySwaggerUiOptions = {
  routePrefix: '/docs',
  logo: IMAGE,
  theme: {
    title: 'Dibs API',
    favicon: [{ ...IMAGE, filename: 'dibs.svg', rel: 'icon', sizes: 'any' }],
  },
  // Each operation has some fifteen examples: to colour them takes a browser seconds.
  uiConfig: { defaultModelsExpandDepth: 0, docExpansion: 'list', syntaxHighlight: false },
};
