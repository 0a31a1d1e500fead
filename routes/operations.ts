import { Type } from 'typebox';
import { isUuid } from '../src/ids.ts';
import { JOB_STATES } from '../src/job.ts';
import { OPERATION_STATES, type Operation as OperationRow } from '../src/verbs/operations.ts';
import { pageOf } from './http/answers/cursor.ts';
import type { App } from './http/connection/fastify.ts';
import { answer, answerLike, operation } from './http/openapi/operation.ts';
import { oneOf, pageQuery, QueueName, ref } from './schemas/common.ts';
import { Operation, OperationPage, OperationRequest, RelocateRequest } from './schemas/operation.ts';

const tags = ['Operations'];

const OperationId = Type.Object({
  id: Type.String({ description: 'The id of an operation, as Dibs gave it; opaque.' }),
});

/** A filter that is not set is left out, as in the body of a POST. */
const setOf = (filter: object) =>
  Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));

/** An operation as it is told. */
export function toOperation(row: OperationRow) {
  const { states, group, fairness_key, worker, error_contains, created_after, created_before, ...rest } = row;
  const filter = {
    states,
    ...setOf({ group, fairness_key, worker, error_contains, created_after, created_before }),
  };
  const { id, verb, queue, to, ...progress } = rest;
  return { id, verb, queue, to, filter, ...progress };
}

export function operationRoutes(app: App): void {
  app.route({
    method: 'POST',
    url: '/operations',
    config: { verb: 'startOperation' },
    schema: {
      body: ref(OperationRequest),
      ...operation({
        operationId: 'startOperation',
        tags,
        summary: 'Cancel, retry, delete or move any number of jobs',
        description:
          'In the background, in small batches, with pauses while claims are served. It counts first, and touches no job that came, ' +
          'or came back, after the call. A replica that dies loses nothing: another one continues. A job that is moved gets ' +
          'another id: only its last six characters change, and they are the same for all jobs of a queue.',
        answers: {
          202: answerLike(Operation, { counted: false, matched: 0, done: 0, skipped: 0 }, 'It is running.'),
        },
        refusals: ['queue_not_found', 'too_many_operations'],
      }),
    },
    handler: async (request, reply) =>
      reply.code(202).send(toOperation(await request.verbs.startOperation(request.body))),
  });

  app.route({
    method: 'POST',
    url: '/queues/:queue/relocate',
    config: { verb: 'relocateQueue' },
    schema: {
      params: Type.Object({ queue: ref(QueueName) }),
      body: ref(RelocateRequest),
      ...operation({
        operationId: 'relocateQueue',
        tags,
        summary: 'Move a queue to another database',
        description:
          'In the background. Its jobs keep their ids, leases, tokens and order, and its keys, windows and configuration go along. ' +
          'Calls for this queue wait meanwhile, and are refused with 503 `unavailable`, `not_done`, after 5 s. `dry_run` tells in ' +
          '`hold_seconds` how long that will be. A replica or a database that dies leaves the queue whole in one place: the ' +
          'operation continues, or has `failed`. DELETE /operations/{id} stops it, until the queue has arrived.',
        answers: {
          202: answerLike(
            Operation,
            {
              verb: 'relocate',
              to: 'b',
              filter: { states: [...JOB_STATES] },
              counted: false,
              ...{ matched: 0, done: 0, skipped: 0 },
            },
            'It is running.',
          ),
        },
        refusals: [
          'queue_not_found',
          'queue_elsewhere',
          'queue_busy',
          'database_closed',
          'too_many_operations',
        ],
      }),
    },
    handler: async (request, reply) =>
      reply
        .code(202)
        .send(toOperation(await request.verbs.relocateQueue({ ...request.params, ...request.body }))),
  });

  app.route({
    method: 'GET',
    url: '/operations',
    config: { verb: 'listOperations' },
    schema: {
      querystring: Type.Object(
        {
          queue: Type.Optional(ref(QueueName)),
          state: Type.Optional(oneOf(OPERATION_STATES, { description: 'Only those in this state.' })),
          ...pageQuery,
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'listOperations',
        tags,
        summary: 'List operations, newest first',
        description: 'Those that ended are kept for 30 days, and the newest 1000 of them at most.',
        answers: { 200: answer(ref(OperationPage), 'A page of operations.') },
      }),
    },
    handler: async (request) => {
      const { queue, state } = request.query;
      const { items, next, away } = await pageOf({ of: 'operations', queue, state }, request.query, {
        list: async (limit, after) => {
          const page = await request.verbs.listOperations({ limit, after, queue, state });
          return { items: page.operations, away: page.away };
        },
        keyOf: ({ id }) => id,
        isKey: isUuid,
      });
      return { operations: items.map(toOperation), next_cursor: next, away };
    },
  });

  app.route({
    method: 'GET',
    url: '/operations/:id',
    config: { verb: 'getOperation' },
    schema: {
      params: OperationId,
      ...operation({
        operationId: 'getOperation',
        tags,
        summary: 'Get an operation',
        answers: { 200: answer(ref(Operation), 'The operation, with its progress.') },
        refusals: ['operation_not_found'],
      }),
    },
    handler: async (request) => toOperation(await request.verbs.getOperation(request.params)),
  });

  app.route({
    method: 'DELETE',
    url: '/operations/:id',
    config: { verb: 'stopOperation' },
    schema: {
      params: OperationId,
      ...operation({
        operationId: 'stopOperation',
        tags,
        summary: 'Stop an operation',
        description: 'What it did stays done. One that has ended stays as it is.',
        answers: {
          200: answerLike(
            Operation,
            { state: 'cancelled', finished_at: '2026-11-21T09:31:00.000Z' },
            'The operation. Nothing more is done.',
          ),
        },
        refusals: ['operation_not_found'],
      }),
    },
    handler: async (request) => toOperation(await request.verbs.stopOperation(request.params)),
  });
}
