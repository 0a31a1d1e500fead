import { Type } from 'typebox';
import { pageOf } from './http/answers/cursor.ts';
import type { App } from './http/connection/fastify.ts';
import { answer, operation } from './http/openapi/operation.ts';
import { AuditPage } from './schemas/audit.ts';
import { pageQuery, QueueName, ref, text, timeParameter } from './schemas/common.ts';

/** The largest id that PostgreSQL and JavaScript both write as it is has 15 digits. */
const isAuditId = (key: string): boolean => /^\d{1,15}$/.test(key);

export function auditRoute(app: App): void {
  app.route({
    method: 'GET',
    url: '/audit',
    config: { verb: 'listAudit' },
    schema: {
      querystring: Type.Object(
        {
          actor: Type.Optional(text(256, { description: 'Only what this key or token did, by its name.' })),
          verb: Type.Optional(text(64, { description: 'Only this verb, such as `purgeQueue`.' })),
          queue: Type.Optional(ref(QueueName)),
          created_after: Type.Optional(timeParameter('Only what was done at this time or later.')),
          created_before: Type.Optional(timeParameter('Only what was done before this time.')),
          ...pageQuery,
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'listAudit',
        tags: ['Access'],
        summary: 'Who did what with the scope admin, newest first',
        description:
          'Entries are kept for 90 days, and a million of them at most. Calls that only look leave none, and neither do ' +
          'calls that were refused with 403: these leave a line in the log.',
        answers: { 200: answer(ref(AuditPage), 'A page of entries.') },
      }),
    },
    handler: async (request) => {
      const { limit: _, cursor: __, ...filters } = request.query;
      const { items, next } = await pageOf({ of: 'audit', ...filters }, request.query, {
        list: async (limit, after) => ({
          items: await request.verbs.listAudit({ ...filters, limit, after }),
        }),
        keyOf: ({ id }) => id,
        isKey: isAuditId,
      });
      return { entries: items, next_cursor: next };
    },
  });
}
