import type { Engine } from '../src/engine.ts';
import { invalidRequest, Refusal } from '../src/errors.ts';
import type { Job } from '../src/job.ts';
import type { Acked, Nacked } from '../src/settle/requests.ts';
import { noBodyIsEmpty, rawShapes } from './http/body.ts';
import type { App } from './http/fastify.ts';
import { withFollowUps } from './http/jobBody.ts';
import { answer, operation } from './http/operation.ts';
import { toProblem } from './http/problems.ts';
import { jobJson } from './http/serialize.ts';
import { ref } from './schemas/common.ts';
import { SettleRequest, SettleResults } from './schemas/lease.ts';

const MAX_ITEMS = 1000;

/** The result of a nack or release: a few fields of the job. */
const standing = ({ state, run_at }: Job) => ({ state, run_at });

const shown = (enqueued: Job[]) => enqueued.map((job) => JSON.parse(jobJson(job)));
const showAcked = ({ state, enqueued }: Acked) => ({ state, enqueued: shown(enqueued) });
const showNacked = ({ enqueued, ...job }: Nacked) =>
  enqueued ? { ...standing(job), enqueued: shown(enqueued) } : standing(job);

/** Where a follow-up stands in the body, for problem details. */
const followUpAt = (list: string, item: number) => (i: number) => `/${list}/${item}/enqueue/${i}`;

/** One result for each item, in the order of the request. */
async function results<I extends { id: string }, R>(
  items: I[] | undefined,
  verb: (item: I, i: number) => Promise<R>,
  show: (result: R) => object,
): Promise<object[]> {
  return Promise.all(
    (items ?? []).map(async (item, i) => {
      try {
        return { id: item.id, status: 200, ...show(await verb(item, i)) };
      } catch (error) {
        // An outage fails the whole call. A stale lease fails only its own item.
        if (!(error instanceof Refusal) || error.code === 'unavailable') throw error;
        const problem = toProblem(error);
        return { id: item.id, status: problem.status, problem };
      }
    }),
  );
}

export function settleRoute(app: App, engine: Engine, maxPayloadBytes: number): void {
  app.route({
    method: 'POST',
    url: '/jobs/settle',
    config: { raw: rawShapes(maxPayloadBytes).settle },
    preValidation: noBodyIsEmpty,
    schema: {
      body: ref(SettleRequest),
      ...operation({
        operationId: 'settleJobs',
        tags: ['Consuming'],
        summary: 'Ack, nack, release and extend many jobs at once',
        description:
          'Each item has its own result, with the status of the single call: one stale lease spoils nothing for the ' +
          'others. A malformed item refuses all.',
        answers: { 200: answer(ref(SettleResults), 'A result per item.') },
        takesBody: true,
      }),
    },
    handler: async (request) => {
      const { acks, nacks, releases, extends: extensions } = request.body;
      const count = [acks, nacks, releases, extensions].reduce((sum, list) => sum + (list?.length ?? 0), 0);
      if (count > MAX_ITEMS)
        throw invalidRequest([
          { in: 'body', path: '', message: `must have at most ${MAX_ITEMS} items in all` },
        ]);
      const done = acks?.map(withFollowUps);
      const failed = nacks?.map(withFollowUps);
      // A bad follow-up refuses the whole call before anything is settled.
      for (const [list, items] of Object.entries({ acks: done, nacks: failed }))
        for (const [i, { enqueue }] of (items ?? []).entries())
          if (enqueue) engine.check(enqueue, followUpAt(list, i));
      const [acked, nacked, released, extended] = await Promise.all([
        results(done, (item, i) => engine.ack(item, followUpAt('acks', i)), showAcked),
        results(failed, (item, i) => engine.nack(item, followUpAt('nacks', i)), showNacked),
        results(releases, engine.release, standing),
        results(extensions, engine.extend, ({ state, lease_expires_at, cancel_requested }) => ({
          state,
          lease_expires_at,
          cancel_requested,
        })),
      ]);
      return { acks: acked, nacks: nacked, releases: released, extends: extended };
    },
  });
}
