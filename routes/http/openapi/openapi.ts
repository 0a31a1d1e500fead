import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { needOf } from '../../../src/access/needs.ts';
import { version } from '../../../src/version.ts';
import type { ProblemCode } from '../answers/httpRefusal.ts';
import { codesOf } from './operation.ts';
import { problemResponses } from './problemResponses.ts';

interface Described {
  operationId: string;
  requestBody?: { required: boolean };
  responses: Record<string, object>;
}

/** The operations whose body may be left out. @fastify/swagger itself says that every body is required. */
const optionalBodies = new Set<string>();
/** What each operation can be refused with. */
const refusalsOf = new Map<string, ReadonlySet<ProblemCode>>();

/** How the OpenAPI document is made from the routes. */
export const openApi: FastifyDynamicSwaggerOptions = {
  transform: ({ schema: declared, url, route }) => {
    const { refusals = [], ...schema } = declared as typeof declared & { refusals?: ProblemCode[] };
    const operationId = schema.operationId as string;
    const verb = route.config?.verb;
    const isPublic = verb === undefined || verb === 'none';
    refusalsOf.set(operationId, codesOf(refusals, { takesBody: schema.body !== undefined, isPublic }));
    if (route.config?.optionalBody) optionalBodies.add(operationId);
    if (isPublic) return { schema: { ...schema, security: [] }, url };
    const { scope } = needOf(verb);
    // Without a key is the first choice, so that a client made before there were keys stays as it is.
    const security: Record<string, string[]>[] = [{}, { accessKey: [scope] }];
    const description = `${schema.description} Needs the scope \`${scope}\`.`;
    return { schema: { ...schema, security, description }, url };
  },
  transformObject: (document) => {
    const openapiObject = 'openapiObject' in document ? document.openapiObject : {};
    const responses: Record<string, object> = {};
    for (const operation of Object.values(openapiObject.paths ?? {}).flatMap(
      (path) => Object.values(path as object) as Described[],
    )) {
      const { shared, refs } = problemResponses(refusalsOf.get(operation.operationId) as Set<ProblemCode>);
      Object.assign(operation.responses, refs);
      Object.assign(responses, shared);
      if (operation.requestBody && optionalBodies.has(operation.operationId))
        operation.requestBody.required = false;
    }
    Object.assign(openapiObject.components ?? {}, { responses });
    return openapiObject;
  },
  openapi: {
    openapi: '3.1.0',
    info: {
      title: 'Dibs',
      version,
      description:
        'A durable job queue behind a plain REST API, on PostgreSQL. Every answer that is not 2xx is a problem ' +
        'document (RFC 9457) with a stable `code`.',
      contact: { name: 'The Dibs authors' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      { url: '/', description: 'The Dibs that serves this document.' },
      { url: 'http://127.0.0.1:8080', description: 'Dibs on this machine, with its default port.' },
    ],
    components: {
      securitySchemes: {
        accessKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An access key (`dibs_...`) or a token of your own issuer. Each operation names the scope that it needs. A key ' +
            'with `admin` has all scopes. Without keys, Dibs serves only its own machine.',
        },
      },
    },
    tags: [
      { name: 'Producing', description: 'Enqueue jobs.' },
      { name: 'Consuming', description: 'Claim jobs, extend their leases, and settle them.' },
      { name: 'Jobs', description: 'See, change, cancel and retry single jobs.' },
      { name: 'Databases', description: 'The PostgreSQLs behind this Dibs, and where new queues go.' },
      { name: 'Queues', description: 'See, configure and pause queues; purge and redrive their jobs.' },
      {
        name: 'Batches',
        description:
          'Any number of jobs that belong together. When all of them have ended, the jobs that follow are enqueued.',
      },
      {
        name: 'Sessions',
        description: 'Leases that end at once when the connection of their worker is lost.',
      },
      {
        name: 'Operations',
        description: 'Cancel, retry, delete or move any number of jobs, in the background.',
      },
      { name: 'Schedules', description: 'Enqueue a job at every tick of a cron.' },
      {
        name: 'Access',
        description: 'Who may use Dibs (access keys, their scopes and their queues), and who did what.',
      },
      { name: 'Health', description: 'Whether the service can serve.' },
    ],
  },
  refResolver: {
    buildLocalReference: (json, _baseUri, _fragment, i) => (json.$id as string | undefined) ?? `def-${i}`,
  },
};
