import { Type } from 'typebox';
import type { App } from './http/connection/fastify.ts';
import { answer, answerLike, operation } from './http/openapi/operation.ts';
import { DatabaseName, ref } from './schemas/common.ts';
import { Database, DatabaseConfig, Databases } from './schemas/database.ts';

const tags = ['Databases'];

export function databaseRoutes(app: App): void {
  app.route({
    method: 'GET',
    url: '/databases',
    config: { verb: 'listDatabases' },
    schema: {
      ...operation({
        operationId: 'listDatabases',
        tags,
        summary: 'List the databases',
        description: 'One, `home`, unless this Dibs has several PostgreSQLs.',
        answers: { 200: answer(ref(Databases), 'The databases.') },
      }),
    },
    handler: async (request) => ({ databases: await request.verbs.listDatabases({}) }),
  });

  app.route({
    method: 'PUT',
    url: '/databases/:name',
    config: { verb: 'configureDatabase' },
    schema: {
      params: Type.Object({ name: ref(DatabaseName) }),
      body: ref(DatabaseConfig),
      ...operation({
        operationId: 'configureDatabase',
        tags,
        summary: 'Open or close a database for new queues',
        description: 'Its queues stay, and keep working. The only database cannot be closed.',
        answers: { 200: answerLike(Database, { state: 'closed' }, 'The database.') },
        refusals: ['database_not_found'],
      }),
    },
    handler: (request) => request.verbs.configureDatabase({ ...request.params, ...request.body }),
  });
}
