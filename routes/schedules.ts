import { Type } from 'typebox';
import { LARGEST_BYTES } from '../src/memory.ts';
import { traceIn } from '../src/traceparent.ts';
import { pageOf } from './http/answers/cursor.ts';
import { sendAnswer } from './http/answers/idempotency.ts';
import type { App } from './http/connection/fastify.ts';
import { takeAnswer, withRoom } from './http/connection/memory.ts';
import { rawShapes } from './http/json/body.ts';
import { bodyLimits } from './http/json/bodyLimits.ts';
import { enqueued, enqueuedAnswers, toNewJob } from './http/json/jobBody.ts';
import { scheduleJson, schedulePageJson, sendJson } from './http/json/serialize.ts';
import { answer, answerLike, operation } from './http/openapi/operation.ts';
import { isScheduleName, pageQuery, ref, ScheduleName } from './schemas/common.ts';
import { DEFAULT_TIMEZONE, Schedule, SchedulePage, ScheduleSpec } from './schemas/schedule.ts';

const Named = Type.Object({ name: ref(ScheduleName) });
const tags = ['Schedules'];

export function scheduleRoutes(app: App, maxPayloadBytes: number): void {
  app.route({
    method: 'GET',
    url: '/schedules',
    config: { verb: 'listSchedules' },
    schema: {
      querystring: Type.Object(pageQuery, { additionalProperties: false }),
      ...operation({
        operationId: 'listSchedules',
        tags,
        summary: 'List schedules by name',
        description: 'Keyset pages, each of about 16 MiB at most.',
        answers: { 200: answer(ref(SchedulePage), 'A page of schedules.') },
        refusals: ['overloaded'],
      }),
    },
    handler: async (request, reply) => {
      const { items, next } = await pageOf({ of: 'schedules' }, request.query, {
        list: (limit, after) =>
          withRoom(request, LARGEST_BYTES, async (max_bytes) => {
            const { schedules, isCut } = await request.verbs.listSchedules({ limit, after, max_bytes });
            takeAnswer(
              request,
              schedules.reduce((sum, { job, payload }) => sum + job.length + (payload?.length ?? 0), 0),
            );
            return { items: schedules, isCut };
          }),
        keyOf: ({ name }) => name,
        isKey: isScheduleName,
      });
      return sendJson(reply, schedulePageJson(items, next));
    },
  });

  app.route({
    method: 'GET',
    url: '/schedules/:name',
    config: { verb: 'getSchedule' },
    schema: {
      params: Named,
      ...operation({
        operationId: 'getSchedule',
        tags,
        summary: 'Get a schedule',
        description: 'Its job, its cron, and when it ticks next and ticked last.',
        answers: {
          200: answerLike(Schedule, { last_run_at: '2026-11-20T05:30:00.000Z' }, 'The schedule.'),
        },
        refusals: ['schedule_not_found'],
      }),
    },
    handler: async (request, reply) =>
      sendJson(reply, scheduleJson(await request.verbs.getSchedule(request.params))),
  });

  app.route({
    method: 'PUT',
    url: '/schedules/:name',
    config: { verb: 'putSchedule', raw: rawShapes(maxPayloadBytes).schedule },
    bodyLimit: bodyLimits(maxPayloadBytes).job,
    schema: {
      params: Named,
      body: ref(ScheduleSpec),
      ...operation({
        operationId: 'putSchedule',
        tags,
        summary: 'Create a schedule, or replace it whole',
        description:
          'Over all replicas, each tick enqueues one job. Ticks missed while no replica ran are made up for by one job. ' +
          'When clocks change, a fixed time that is skipped ticks after the gap, and one that comes twice ticks once. What ticks every n minutes or hours continues through both.',
        answers: { 200: answer(ref(Schedule), 'The schedule.') },
      }),
    },
    handler: async (request, reply) => {
      const { cron, timezone = DEFAULT_TIMEZONE, paused = false, job } = request.body;
      const spec = { cron, timezone, paused, job: toNewJob(job) };
      const schedule = await request.verbs.putSchedule({ ...request.params, spec });
      return sendJson(reply, scheduleJson(schedule));
    },
  });

  app.route({
    method: 'DELETE',
    url: '/schedules/:name',
    config: { verb: 'deleteSchedule' },
    schema: {
      params: Named,
      ...operation({
        operationId: 'deleteSchedule',
        tags,
        summary: 'Delete a schedule',
        description: 'The jobs that it enqueued stay.',
        answers: { 204: { type: 'null', description: 'Deleted.' } },
        refusals: ['schedule_not_found'],
      }),
    },
    handler: async (request, reply) => {
      await request.verbs.deleteSchedule(request.params);
      return reply.code(204).send();
    },
  });

  app.route({
    method: 'POST',
    url: '/schedules/:name/trigger',
    config: { verb: 'triggerSchedule' },
    schema: {
      params: Named,
      ...operation({
        operationId: 'triggerSchedule',
        tags,
        summary: 'Enqueue the job of a schedule now',
        description: 'Besides its ticks, also while it is paused. The payload is left out of the answer.',
        answers: enqueuedAnswers,
        refusals: ['schedule_not_found', 'too_many_queues', 'queue_full'],
      }),
    },
    handler: async (request, reply) =>
      sendAnswer(
        reply,
        enqueued(await request.verbs.triggerSchedule({ ...request.params, trace: traceIn(request.headers) })),
      ),
  });
}
