// Shows what Fastify itself can do: POST /jobs with the body and response schemas of Dibs, its validator and
// its Fastify options. It uses Fastify's own JSON parser and serialiser, and no database. The answer is as
// long as that of Dibs.
import { randomUUID } from 'node:crypto';
import Fastify, { LogController } from 'fastify';
import { pino } from 'pino';
import { buildValidator } from '../../dist/routes/http/json/validation.js';
import { namedSchemas } from '../../dist/routes/schemas/named.js';

const app = Fastify({
  loggerInstance: pino({ level: process.env.LOG_LEVEL ?? 'info' }),
  genReqId: () => randomUUID(),
  logController: new LogController({ disableRequestLogging: true }),
  bodyLimit: 16 * 2 ** 20,
  routerOptions: { maxParamLength: 16_384 },
  schemaController: { compilersFactory: { buildValidator } },
});
for (const schema of namedSchemas) app.addSchema(schema);

/** The fields that each job has, as null. So one that is new is in the answer at once. */
const NULLS = Object.fromEntries(
  namedSchemas.find(({ $id }) => $id === 'Job').required.map((name) => [name, null]),
);

app.route({
  method: 'POST',
  url: '/jobs',
  schema: {
    body: { $ref: 'JobSpec#' },
    response: { 201: { content: { 'application/json': { schema: { $ref: 'Job#' } } } } },
  },
  handler: async ({ body }, reply) => {
    const now = new Date().toISOString();
    const id = randomUUID();
    reply.code(201).header('location', `/jobs/${id}`).type('application/json');
    return {
      ...NULLS,
      id,
      queue: body.queue ?? 'default',
      state: 'ready',
      headers: body.headers ?? {},
      priority: body.priority ?? 0,
      attempt: 0,
      max_attempts: body.max_attempts ?? 5,
      deliveries: 0,
      run_at: now,
      created_at: now,
    };
  },
});

process.once('SIGTERM', () => process.exit(0));
await app.listen({
  host: '127.0.0.1',
  port: Number(process.env.PORT ?? 0),
  listenTextResolver: (at) => `The bare route is ready at ${at}`,
});
