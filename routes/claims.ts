import { traceIn } from '../src/traceparent.ts';
import type { App } from './http/connection/fastify.ts';
import { hangupsSeen, holdOf, onHangup } from './http/connection/taken.ts';
import { rawShapes } from './http/json/body.ts';
import { bodyLimits } from './http/json/bodyLimits.ts';
import { withFollowUps } from './http/json/jobBody.ts';
import { ackedJson, jobJson, jobListJson, nackedJson, sendJson } from './http/json/serialize.ts';
import { answer, answerLike, link, operation, REFUSALS_OF_JOBS } from './http/openapi/operation.ts';
import { callerId } from './http/security/clientAddress.ts';
import { JobId, ref } from './schemas/common.ts';
import { Job, LeasedJobList } from './schemas/job.ts';
import {
  Acked,
  AckRequest,
  ClaimRequest,
  Extended,
  ExtendRequest,
  NackRequest,
  ReleaseRequest,
} from './schemas/lease.ts';

const FIRST_ID = '$response.body#/jobs/0/id';

/** Where a follow-up stands in the body, for problem details. */
const followUpAt = (i: number) => `/enqueue/${i}`;

export function claimRoutes(app: App, maxPayloadBytes: number): void {
  const raw = rawShapes(maxPayloadBytes);
  const limits = bodyLimits(maxPayloadBytes);

  app.route({
    method: 'POST',
    url: '/jobs/claim',
    config: { verb: 'claim', optionalBody: true },
    schema: {
      body: ref(ClaimRequest),
      ...operation({
        operationId: 'claimJobs',
        tags: ['Consuming'],
        summary: 'Lease ready jobs',
        description:
          'Higher priority first, then order of arrival. With `wait_seconds` the request is held until a job is there; ' +
          'waiting claims are served in the order in which they came. An answer holds about 16 MiB of payload at most.',
        answers: {
          200: answer(ref(LeasedJobList), 'The jobs, each with its `lease_token`; empty when there is none.'),
        },
        refusals: ['session_not_found'],
      }),
    },
    links: {
      200: {
        ack: link('ackJob', FIRST_ID, 'It is done. The body needs the `lease_token` of that job.'),
        nack: link('nackJob', FIRST_ID, 'It failed. The body needs the `lease_token` of that job.'),
        release: link('releaseJob', FIRST_ID, 'Give it back. The body needs the `lease_token` of that job.'),
        extend: link(
          'extendLease',
          FIRST_ID,
          'The work takes longer. The body needs the `lease_token` of that job.',
        ),
      },
    },
    handler: async (request, reply) => {
      const jobs = await request.verbs.claim({
        ...request.body,
        by: callerId(request),
        hold: () => holdOf(request),
        onHangup: (gone) => onHangup(request, gone),
      });
      if (jobs.length > 0) await hangupsSeen();
      return sendJson(reply, jobListJson(jobs, request.body.payload_format));
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/:id/ack',
    config: { verb: 'ack', raw: raw.ack },
    bodyLimit: limits.jobs,
    schema: {
      params: JobId,
      body: ref(AckRequest),
      ...operation({
        operationId: 'ackJob',
        tags: ['Consuming'],
        summary: 'Complete a job: its work is done',
        description:
          'The job is deleted. In a queue with a retention, or while somebody waits for its end, it is kept as ' +
          '`completed` with its `result`. An ack counts also after the lease ran out, while nobody else was given the job. The jobs in `enqueue` are ' +
          'inserted in the same transaction: they are there if and only if the ack counted.',
        answers: { 200: answer(ref(Acked), 'It is done.') },
        refusals: ['job_not_found', 'lease_lost', ...REFUSALS_OF_JOBS],
      }),
    },
    handler: async (request, reply) => {
      const { body, params, headers } = request;
      const item = withFollowUps({ ...body, id: params.id, at: followUpAt }, traceIn(headers));
      return sendJson(reply, ackedJson(await request.verbs.ack(item)));
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/:id/nack',
    config: { verb: 'nack', raw: raw.nack },
    bodyLimit: limits.jobs,
    schema: {
      params: JobId,
      body: ref(NackRequest),
      ...operation({
        operationId: 'nackJob',
        tags: ['Consuming'],
        summary: 'Fail an attempt: the job is retried after its backoff, or is dead',
        description:
          '`dead` when its attempts are used up or `retry` is false. The jobs in `enqueue` are inserted in the same ' +
          'transaction if this makes the job dead, and only then.',
        answers: {
          200: answerLike(
            Job,
            {
              state: 'scheduled',
              attempt: 1,
              deliveries: 1,
              run_at: '2026-11-21T09:30:04.000Z',
              last_error: 'SMTP 421: try again later',
            },
            'The job.',
          ),
        },
        refusals: ['job_not_found', 'lease_lost', ...REFUSALS_OF_JOBS],
      }),
    },
    handler: async (request, reply) => {
      const { body, params, headers } = request;
      const item = withFollowUps({ ...body, id: params.id, at: followUpAt }, traceIn(headers));
      return sendJson(reply, nackedJson(await request.verbs.nack(item)));
    },
  });

  app.route({
    method: 'POST',
    url: '/jobs/:id/release',
    config: { verb: 'release' },
    schema: {
      params: JobId,
      body: ref(ReleaseRequest),
      ...operation({
        operationId: 'releaseJob',
        tags: ['Consuming'],
        summary: 'Release a job: no attempt is charged',
        description: 'The attempt is not charged.',
        answers: { 200: answerLike(Job, { attempt: 0, deliveries: 1 }, 'The job.') },
        refusals: ['job_not_found', 'lease_lost'],
      }),
    },
    handler: async (request, reply) =>
      sendJson(reply, jobJson(await request.verbs.release({ ...request.body, id: request.params.id }))),
  });

  app.route({
    method: 'POST',
    url: '/jobs/:id/extend',
    config: { verb: 'extend', raw: raw.extend },
    bodyLimit: limits.progress,
    schema: {
      params: JobId,
      body: ref(ExtendRequest),
      ...operation({
        operationId: 'extendLease',
        tags: ['Consuming'],
        summary: 'Extend a lease',
        description:
          'Counts also after the lease ran out, until it is rescued. After an outage, leases are left alone for ' +
          '`RESCUE_GRACE_SECONDS`, so that workers can extend them. After that it is too late (409).',
        answers: { 200: answer(ref(Extended), 'The lease.') },
        refusals: ['job_not_found', 'lease_lost'],
      }),
    },
    handler: (request) => request.verbs.extend({ ...request.body, id: request.params.id }),
  });
}
