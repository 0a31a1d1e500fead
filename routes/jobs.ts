import { Type } from 'typebox';
import { isUuid } from '../src/ids.ts';
import { sizeOf } from '../src/job.ts';
import { LARGEST_BYTES } from '../src/memory.ts';
import type { JobPage as ListedJobs } from '../src/verbs/jobs.ts';
import { pageOf } from './http/answers/cursor.ts';
import type { App } from './http/connection/fastify.ts';
import { takeAnswer, takeWait, withRoom } from './http/connection/memory.ts';
import { onHangup } from './http/connection/taken.ts';
import { rawShapes } from './http/json/body.ts';
import { bodyLimits } from './http/json/bodyLimits.ts';
import { jobJson, jobPageJson, sendJson } from './http/json/serialize.ts';
import { answer, answerLike, operation } from './http/openapi/operation.ts';
import {
  decimal,
  JobId,
  JobStateName,
  MAX_WAIT_SECONDS,
  oneOf,
  pageQuery,
  QueueName,
  ref,
  text,
} from './schemas/common.ts';
import { Job, JobChange, JobPage, PayloadFormatName } from './schemas/job.ts';
import { jobFilters } from './schemas/operation.ts';

/** Room for a job in a list without payloads. With more than that, the list is cut sooner. */
const BYTES_OF_JOB = 16 * 1024;

/** In examples: what a worker's lease changes of a job. */
const LEASED = {
  state: 'leased',
  attempt: 1,
  deliveries: 1,
  lease_expires_at: '2026-11-21T09:30:30.000Z',
  worker: 'mailer-1',
};

/** Characters of a payload in a list that shows their beginnings. */
const PREVIEW = 200;

export function jobRoutes(app: App, maxPayloadBytes: number): void {
  app.route({
    method: 'GET',
    url: '/jobs',
    config: { verb: 'listJobs' },
    schema: {
      querystring: Type.Object(
        {
          queue: Type.Optional(ref(QueueName)),
          state: Type.Optional(ref(JobStateName)),
          ...jobFilters,
          unique_key: Type.Optional(text(256, { description: 'Only those with this `unique_key`.' })),
          batch: Type.Optional(
            text(36, {
              description:
                'Only those of this batch, by its id. Beside it, only `queue` and `state` may filter.',
            }),
          ),
          payload_contains: Type.Optional(
            text(1024, {
              description:
                'Only those whose payload, as it was sent, contains this, letter by letter. It needs a `queue`.',
            }),
          ),
          include: Type.Optional(
            oneOf(['payload', 'payload_preview'], {
              description: `What else to show. \`payload_preview\`: the first ${PREVIEW} characters of each payload.`,
              'x-enum-varnames': ['IncludePayload', 'IncludePayloadPreview'],
            }),
          ),
          order: Type.Optional(
            oneOf(['newest', 'oldest'], { default: 'newest', description: 'By when they were enqueued.' }),
          ),
          ...pageQuery,
          payload_format: Type.Optional(ref(PayloadFormatName)),
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'listJobs',
        tags: ['Jobs'],
        summary: 'List jobs, newest first',
        description:
          'Keyset pages: jobs that come or go meanwhile make no other job appear twice or be skipped. A cursor is valid only with the filters that it was made for. A page holds about 16 MiB at most, and may be shorter than `limit`: ' +
          'the last one has no `next_cursor`. Some filters need a `queue`: `payload_contains`, `fairness_key`, `worker`, `error_contains` and the times. All of these but `payload_contains` also work with `state=leased` instead. With one of them, with `state=ready`, or with `state` together with `group` or `unique_key`, a request searches for a bounded time: a page may be short or empty, and its `next_cursor` continues the search. In one queue, `looked_at` and `looked_to` tell how far it looked.',
        answers: { 200: answer(ref(JobPage), 'A page of jobs.') },
        refusals: ['overloaded'],
      }),
    },
    handler: async (request, reply) => {
      const { include, payload_format, order = 'newest', limit: _, cursor: __, ...others } = request.query;
      const filters = { ...others, order };
      const isPreview = include === 'payload_preview';
      const most = include === 'payload' ? LARGEST_BYTES : undefined;
      let looked: ListedJobs['looked'];
      const { items, next, away } = await pageOf({ of: 'jobs', ...filters }, request.query, {
        list: (limit, after) =>
          withRoom(request, most ?? limit * BYTES_OF_JOB, async (max_bytes) => {
            const page = await request.verbs.listJobs({
              ...filters,
              limit,
              after,
              payload: include !== undefined,
              preview: isPreview ? PREVIEW : undefined,
              max_bytes,
            });
            const { jobs, isCut, stoppedAt, away } = page;
            looked = page.looked;
            takeAnswer(
              request,
              jobs.reduce((sum, job) => sum + sizeOf(job), 0),
            );
            return { items: jobs, isCut, stoppedAt, away };
          }),
        keyOf: ({ id }) => id,
        isKey: isUuid,
      });
      return sendJson(
        reply,
        jobPageJson(items, { next, looked, away }, isPreview ? 'preview' : payload_format),
      );
    },
  });

  app.route({
    method: 'GET',
    url: '/jobs/:id',
    config: { verb: 'getJob' },
    schema: {
      params: JobId,
      querystring: Type.Object(
        {
          wait_seconds: Type.Optional(
            decimal({
              minimum: 0,
              maximum: MAX_WAIT_SECONDS,
              default: 0,
              description:
                'How long to wait for the end of the job; the timeout of the client must be longer.',
            }),
          ),
          payload_format: Type.Optional(ref(PayloadFormatName)),
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'getJob',
        tags: ['Jobs'],
        summary: 'Get a job, or wait until it is finished',
        description:
          'With `wait_seconds` the answer comes as soon as the job is completed, cancelled or dead, and at the latest after that time, with the job as it is then. This also works in a queue without a retention: a job that somebody waits for is kept with its result until shortly after its end.',
        answers: {
          200: answerLike(
            Job,
            { ...LEASED, payload: { to: 'ada@example.com' } },
            'The job, with its payload.',
          ),
        },
        refusals: ['job_not_found', 'overloaded'],
      }),
    },
    handler: async (request, reply) => {
      const { id } = request.params;
      const { wait_seconds = 0, payload_format } = request.query;
      if (wait_seconds > 0) takeWait(request);
      const from = request.raw.socket;
      const job = await (wait_seconds === 0
        ? request.verbs.getJob({ id, from })
        : request.verbs.waitForJob({ id, from, wait_seconds, onHangup: (gone) => onHangup(request, gone) }));
      takeAnswer(request, sizeOf(job));
      return sendJson(reply, jobJson(job, payload_format));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/jobs/:id',
    config: { verb: 'cancelJob' },
    schema: {
      params: JobId,
      ...operation({
        operationId: 'cancelJob',
        tags: ['Jobs'],
        summary: 'Cancel a job',
        description:
          'A waiting job is cancelled at once. A leased one stays leased until its worker settles it: the worker is told at its next `extend`.',
        answers: {
          200: answerLike(
            Job,
            { state: 'cancelled', finished_at: '2026-11-21T09:31:00.000Z' },
            'It was waiting or dead, and is cancelled.',
          ),
          202: answerLike(
            Job,
            { ...LEASED, attempt: 2, deliveries: 2 },
            'It is with a worker, who sees `cancel_requested`: an ack still completes it, anything else makes it cancelled.',
          ),
        },
        refusals: ['job_not_found', 'job_finished'],
      }),
    },
    handler: async (request, reply) => {
      const job = await request.verbs.cancelJob(request.params);
      return sendJson(reply.code(job.state === 'leased' ? 202 : 200), jobJson(job));
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/:id/retry',
    config: { verb: 'retryJob' },
    schema: {
      params: JobId,
      ...operation({
        operationId: 'retryJob',
        tags: ['Jobs'],
        summary: 'Make a dead or scheduled job ready',
        description:
          'Its attempts are reset to 0. A job that waits already is answered as it is; a dead one whose `unique_key` ' +
          'another unfinished job has stays dead.',
        answers: {
          200: answerLike(Job, { last_error: 'SMTP 421: try again later', deliveries: 3 }, 'The job.'),
        },
        refusals: ['job_not_found', 'job_leased', 'job_finished', 'unique_key_taken'],
      }),
    },
    handler: async (request, reply) => sendJson(reply, jobJson(await request.verbs.retryJob(request.params))),
  });
  app.route({
    method: 'PATCH',
    url: '/jobs/:id',
    config: { verb: 'changeJob', raw: rawShapes(maxPayloadBytes).job },
    bodyLimit: bodyLimits(maxPayloadBytes).job,
    schema: {
      params: JobId,
      body: ref(JobChange),
      ...operation({
        operationId: 'changeJob',
        tags: ['Jobs'],
        summary: 'Change a job that waits or is dead',
        description:
          'A ready job that gets another priority goes behind the others of that priority. A dead job stays dead: retry it ' +
          'when it is changed. The payload is left out of the answer.',
        answers: { 200: answerLike(Job, { priority: 9 }, 'The job.') },
        refusals: ['job_not_found', 'job_leased', 'job_finished'],
      }),
    },
    handler: async (request, reply) => {
      const job = await request.verbs.changeJob({ ...request.params, change: request.body });
      return sendJson(reply, jobJson(job));
    },
  });
}
