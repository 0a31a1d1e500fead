import { Type } from 'typebox';
import { isUuid } from '../src/ids.ts';
import { traceIn } from '../src/traceparent.ts';
import { pageOf } from './http/answers/cursor.ts';
import {
  idempotencyHeaders,
  idempotentOf,
  markReplayed,
  replayedHeader,
} from './http/answers/idempotency.ts';
import type { App } from './http/connection/fastify.ts';
import { takeWait } from './http/connection/memory.ts';
import { onHangup } from './http/connection/taken.ts';
import { rawShapes } from './http/json/body.ts';
import { bodyLimits } from './http/json/bodyLimits.ts';
import { toNewJob } from './http/json/jobBody.ts';
import { answer, answerLike, link, operation, REFUSALS_OF_JOBS } from './http/openapi/operation.ts';
import { Batch, BatchExplanation, BatchPage, BatchSpec, BatchStateName } from './schemas/batch.ts';
import { decimal, MAX_WAIT_SECONDS, pageQuery, QueueName, ref, TIME_EXAMPLE } from './schemas/common.ts';

const tags = ['Batches'];

const BatchId = Type.Object({
  id: Type.String({ description: 'The id of a batch, as Dibs gave it; opaque.' }),
});

/** A page has no more: the unfinished jobs of each are counted. */
const MOST_LISTED = 100;

const NONE = { scheduled: 0, ready: 0, blocked: 0, leased: 0, completed: 0, cancelled: 0, dead: 0 };

export function batchRoutes(app: App, maxPayloadBytes: number): void {
  app.route({
    method: 'POST',
    url: '/batches',
    config: { verb: 'createBatch', raw: rawShapes(maxPayloadBytes).batch, idempotent: true },
    bodyLimit: bodyLimits(maxPayloadBytes).jobs,
    schema: {
      headers: idempotencyHeaders,
      body: ref(BatchSpec),
      ...operation({
        operationId: 'createBatch',
        tags,
        summary: 'Create a batch: jobs that belong together, and what follows their end',
        description:
          'All or nothing. Later jobs come in with `batch` in their enqueue, while it is open. When it is closed and all of its jobs are ' +
          'finished, its followers are enqueued: each exactly once, in the commit that finished the last job.',
        answers: {
          201: answerLike(
            Batch,
            { state: 'open', counts: { ...NONE, ready: 1 }, closed_at: null },
            'The batch.',
            {
              Location: { type: 'string', description: 'The path of the batch.' },
              ...replayedHeader,
            },
          ),
        },
        refusals: [...REFUSALS_OF_JOBS, 'idempotency_key_reused'],
      }),
    },
    links: {
      201: {
        look: link('getBatch', '$response.body#/id', 'Look at the batch, or wait for its end.'),
        close: link('closeBatch', '$response.body#/id', 'Close it, so that it can end.'),
      },
    },
    handler: async (request, reply) => {
      const { jobs = [], on_success, on_end, closed = false, ...named } = request.body;
      const trace = traceIn(request.headers);
      const { replayed, ...batch } = await request.verbs.createBatch({
        ...named,
        closed,
        trace,
        jobs: jobs.map((job) => toNewJob(job, trace)),
        on_success: on_success && toNewJob(on_success, trace),
        on_end: on_end && toNewJob(on_end, trace),
        once: idempotentOf(request),
      });
      if (replayed) markReplayed(reply);
      return reply.code(201).header('location', `/batches/${batch.id}`).send(batch);
    },
  });

  app.route({
    method: 'GET',
    url: '/batches',
    config: { verb: 'listBatches' },
    schema: {
      querystring: Type.Object(
        {
          queue: Type.Optional(ref(QueueName)),
          state: Type.Optional(ref(BatchStateName)),
          ...pageQuery,
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'listBatches',
        tags,
        summary: 'List batches, newest first',
        description:
          "A batch that has ended is kept for its queue's `retention_seconds`, and for an hour at least. In lists, up to 10,000 jobs of each unfinished state are counted, and a page has up to 100 batches.",
        answers: { 200: answer(ref(BatchPage), 'A page of batches.') },
      }),
    },
    handler: async (request) => {
      const { queue, state } = request.query;
      const { items, next, away } = await pageOf({ of: 'batches', queue, state }, request.query, {
        list: async (limit, after) => {
          const most = Math.min(limit, MOST_LISTED);
          const { batches, away } = await request.verbs.listBatches({ limit: most, after, queue, state });
          return { items: batches, isCut: most < limit && batches.length === most, away };
        },
        keyOf: ({ id }) => id,
        isKey: isUuid,
      });
      return { batches: items, next_cursor: next, away };
    },
  });

  app.route({
    method: 'GET',
    url: '/batches/:id',
    config: { verb: 'getBatch' },
    schema: {
      params: BatchId,
      querystring: Type.Object(
        {
          wait_seconds: Type.Optional(
            decimal({
              minimum: 0,
              maximum: MAX_WAIT_SECONDS,
              default: 0,
              description:
                'How long to wait for the end of the batch; the timeout of the client must be longer.',
            }),
          ),
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'getBatch',
        tags,
        summary: 'Get a batch, or wait until it has ended',
        description:
          'With `wait_seconds` the answer comes as soon as it has `succeeded` or `ended`, and at the latest after that time.',
        answers: { 200: answer(ref(Batch), 'The batch, as it is now.') },
        refusals: ['batch_not_found', 'overloaded'],
      }),
    },
    handler: async (request) => {
      const { id } = request.params;
      const { wait_seconds = 0 } = request.query;
      if (wait_seconds > 0) {
        takeWait(request);
        await request.verbs.waitForBatch({ id, wait_seconds, onHangup: (gone) => onHangup(request, gone) });
      }
      return request.verbs.getBatch({ id });
    },
  });

  app.route({
    method: 'GET',
    url: '/batches/:id/explain',
    config: { verb: 'explainBatch' },
    schema: {
      params: BatchId,
      ...operation({
        operationId: 'explainBatch',
        tags,
        summary: 'What does my batch wait for?',
        description: 'The one reason, as a `code` for programs and in words.',
        answers: { 200: answer(ref(BatchExplanation), 'The reason.') },
        refusals: ['batch_not_found'],
      }),
    },
    handler: (request) => request.verbs.explainBatch(request.params),
  });

  app.route({
    method: 'POST',
    url: '/batches/:id/close',
    config: { verb: 'closeBatch' },
    schema: {
      params: BatchId,
      ...operation({
        operationId: 'closeBatch',
        tags,
        summary: 'Close a batch',
        description:
          'No more jobs come in, but those that its own jobs add with `enqueue` in their ack or nack. One without unfinished jobs ends at once.',
        answers: {
          200: answerLike(Batch, { counts: { ...NONE, ready: 1000 } }, 'The batch.'),
        },
        refusals: ['batch_not_found', 'batch_closed'],
      }),
    },
    handler: (request) => request.verbs.closeBatch(request.params),
  });

  app.route({
    method: 'DELETE',
    url: '/batches/:id',
    config: { verb: 'cancelBatch' },
    schema: {
      params: BatchId,
      ...operation({
        operationId: 'cancelBatch',
        tags,
        summary: 'Cancel a batch',
        description:
          'It is closed, and its jobs that wait are cancelled. Of very many, the rest goes on in the background. Those that are leased go on; ' +
          'jobs that they add are cancelled. None of its followers is enqueued any more. A key needs all queues in which its jobs wait.',
        answers: {
          200: answerLike(
            Batch,
            {
              state: 'ended',
              counts: { ...NONE, completed: 984, cancelled: 16 },
              followers: [],
              finished_at: TIME_EXAMPLE,
            },
            'The batch.',
          ),
        },
        refusals: ['batch_not_found'],
      }),
    },
    handler: (request) => request.verbs.cancelBatch(request.params),
  });
}
