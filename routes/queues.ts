import { Type } from 'typebox';
import { isQueueName } from '../src/verbs/queues.ts';
import { pageOf } from './http/answers/cursor.ts';
import type { App } from './http/connection/fastify.ts';
import { completeConfig, queueBody } from './http/json/queueBody.ts';
import { answer, answerLike, operation } from './http/openapi/operation.ts';
import { InGroup, InQueue, pageQuery, ref, text } from './schemas/common.ts';
import {
  Count,
  DEFAULT_CONFIG,
  GroupStatus,
  PurgeRequest,
  Queue,
  QueueConfig,
  QueuePage,
  RedriveRequest,
} from './schemas/queue.ts';

const HOW_MANY = 'How many jobs.';
const tags = ['Queues'];

export function queueRoutes(app: App): void {
  app.route({
    method: 'GET',
    url: '/queues',
    config: { verb: 'listQueues' },
    schema: {
      querystring: Type.Object(
        {
          name_contains: Type.Optional(text(128, { description: 'Only those whose name contains this.' })),
          ...pageQuery,
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'listQueues',
        tags,
        summary: 'List queues by name',
        description:
          'Keyset pages. Queues that come or go meanwhile make no other queue appear twice or be skipped.',
        answers: { 200: answer(ref(QueuePage), 'A page of queues.') },
      }),
    },
    handler: async (request) => {
      const { name_contains } = request.query;
      const { items, next, away } = await pageOf({ of: 'queues', name_contains }, request.query, {
        list: async (limit, after) => {
          const page = await request.verbs.listQueues({ limit, after, name_contains });
          return { items: page.queues, away: page.away };
        },
        keyOf: ({ name }) => name,
        isKey: isQueueName,
      });
      return { queues: items.map(queueBody), next_cursor: next, away };
    },
  });

  app.route({
    method: 'GET',
    url: '/queues/:queue',
    config: { verb: 'getQueue' },
    schema: {
      params: InQueue,
      ...operation({
        operationId: 'getQueue',
        tags,
        summary: 'Get a queue',
        description:
          'Its configuration, how many jobs of each state it has, and how long the oldest ready one waits.',
        answers: { 200: answer(ref(Queue), 'The queue.') },
        refusals: ['queue_not_found'],
      }),
    },
    handler: async (request) => queueBody(await request.verbs.getQueue(request.params)),
  });

  app.route({
    method: 'PUT',
    url: '/queues/:queue',
    config: { verb: 'configureQueue' },
    schema: {
      params: InQueue,
      body: ref(QueueConfig),
      ...operation({
        operationId: 'configureQueue',
        tags,
        summary: 'Configure a queue',
        description:
          'Replaces the whole configuration, creating the queue when there is none. A field that is left out takes its ' +
          'default. To change one field, change it in the `config` of `getQueue`, and send all of that. `database` says ' +
          'in which database a new queue is, where there are several.',
        answers: { 200: answerLike(Queue, { config: { ...DEFAULT_CONFIG, max_leased: 10 } }, 'The queue.') },
        refusals: ['too_many_queues', 'queue_elsewhere', 'queue_busy'],
      }),
    },
    handler: async (request) => {
      const { database } = request.body;
      const config = completeConfig(request.body);
      return queueBody(await request.verbs.configureQueue({ ...request.params, config, database }));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/queues/:queue',
    config: { verb: 'deleteQueue' },
    schema: {
      params: InQueue,
      querystring: Type.Object(
        {
          force: Type.Optional(
            Type.Boolean({ default: false, description: 'Delete its jobs, too, leased ones included.' }),
          ),
        },
        { additionalProperties: false },
      ),
      ...operation({
        operationId: 'deleteQueue',
        tags,
        summary: 'Delete a queue',
        description:
          'With its configuration. Refused while it has jobs, unless `force` says that they go, too.',
        answers: { 204: { type: 'null', description: 'Deleted.' } },
        refusals: ['queue_not_found', 'queue_not_empty'],
      }),
    },
    handler: async (request, reply) => {
      await request.verbs.deleteQueue({ ...request.params, force: request.query.force ?? false });
      return reply.code(204).send();
    },
  });

  for (const paused of [true, false]) {
    app.route({
      method: 'POST',
      url: `/queues/:queue/${paused ? 'pause' : 'resume'}`,
      config: { verb: paused ? 'pauseQueue' : 'resumeQueue' },
      schema: {
        params: InQueue,
        ...operation({
          operationId: paused ? 'pauseQueue' : 'resumeQueue',
          tags,
          summary: paused ? 'Pause a queue' : 'Resume a queue',
          description: paused
            ? 'The queue still accepts jobs, and leased jobs are not affected. Creates the queue when there is none.'
            : 'Claims that wait for the queue are served at once.',
          answers: {
            200: answerLike(
              Queue,
              { paused, oldest_ready_age_seconds: paused ? 340.5 : 341.2 },
              'The queue.',
            ),
          },
          refusals: [paused ? 'too_many_queues' : 'queue_not_found'],
        }),
      },
      handler: async (request) =>
        queueBody(await (paused ? request.verbs.pauseQueue : request.verbs.resumeQueue)(request.params)),
    });
  }

  for (const paused of [true, false]) {
    app.route({
      method: 'POST',
      url: `/queues/:queue/groups/:group/${paused ? 'pause' : 'resume'}`,
      config: { verb: paused ? 'pauseGroup' : 'resumeGroup' },
      schema: {
        params: InGroup,
        ...operation({
          operationId: paused ? 'pauseGroup' : 'resumeGroup',
          tags,
          summary: paused ? 'Pause a group' : 'Resume a group',
          description: paused
            ? 'The group still accepts jobs, and one that is leased is not affected. Other groups go on. A queue has up to 1000 paused groups. Creates the queue when there is none.'
            : 'The group goes on, in its order.',
          answers: { 200: answerLike(GroupStatus, { paused }, 'The group.') },
          refusals: paused ? ['too_many_queues', 'too_many_paused_groups'] : ['queue_not_found'],
        }),
      },
      handler: async (request) =>
        paused ? request.verbs.pauseGroup(request.params) : request.verbs.resumeGroup(request.params),
    });
  }

  app.route({
    method: 'POST',
    url: '/queues/:queue/purge',
    config: { verb: 'purgeQueue' },
    schema: {
      params: InQueue,
      body: ref(PurgeRequest),
      ...operation({
        operationId: 'purgeQueue',
        tags,
        summary: 'Delete the jobs in some states',
        description: 'In batches; touches no job that came after the call.',
        answers: { 200: answer(ref(Count), HOW_MANY) },
        refusals: ['queue_not_found'],
      }),
    },
    handler: async (request) => ({
      count: await request.verbs.purgeQueue({ ...request.params, ...request.body }),
    }),
  });

  app.route({
    method: 'POST',
    url: '/queues/:queue/redrive',
    config: { verb: 'redriveQueue', optionalBody: true },
    schema: {
      params: InQueue,
      body: ref(RedriveRequest),
      ...operation({
        operationId: 'redriveQueue',
        tags,
        summary: 'Make dead jobs ready again',
        description:
          'Oldest first, in batches. Their attempts are reset to 0. It touches no job that became dead after the call. With `home`, ' +
          'the dead letters of this queue go back to the queues from which they came.',
        answers: { 200: answerLike(Count, { count: 120 }, HOW_MANY) },
        refusals: ['queue_not_found'],
      }),
    },
    handler: async (request) => ({
      count: await request.verbs.redriveQueue({ ...request.params, ...request.body }),
    }),
  });
}
