import type { Engine } from '../src/engine.ts';
import { invalidRequest } from '../src/errors.ts';
import type { Job } from '../src/job.ts';
import type { Acked, Nacked } from '../src/settle/requests.ts';
import type { Outcome } from '../src/settle/settleMany.ts';
import { rawShapes } from './http/body.ts';
import { bodyLimits } from './http/bodyLimits.ts';
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

/** The results of a list of items, in the order of the request. */
const resultsOf = <Result>(outcomes: Outcome<Result>[], show: (result: Result) => object): object[] =>
  outcomes.map((outcome) => {
    if ('result' in outcome) return { id: outcome.id, status: 200, ...show(outcome.result) };
    const problem = toProblem(outcome.refusal);
    return { id: outcome.id, status: problem.status, problem };
  });

export function settleRoute(app: App, engine: Engine, maxPayloadBytes: number): void {
  app.route({
    method: 'POST',
    url: '/jobs/settle',
    config: { raw: rawShapes(maxPayloadBytes).settle },
    bodyLimit: bodyLimits(maxPayloadBytes).jobs,
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
      const settled = await engine.settle({
        acks: acks?.map(withFollowUps),
        nacks: nacks?.map(withFollowUps),
        releases,
        extends: extensions,
      });
      return {
        acks: resultsOf(settled.acks, showAcked),
        nacks: resultsOf(settled.nacks, showNacked),
        releases: resultsOf(settled.releases, standing),
        extends: resultsOf(settled.extends, ({ state, lease_expires_at, cancel_requested }) => ({
          state,
          lease_expires_at,
          cancel_requested,
        })),
      };
    },
  });
}
