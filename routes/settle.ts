import type { RefusalCode } from '../src/errors.ts';
import type { Job } from '../src/job.ts';
import { traceIn } from '../src/traceparent.ts';
import type { Acked, Extended, ItemAnswer, Nacked, Settled } from '../src/verbs/settle.ts';
import { toProblem } from './http/answers/problems.ts';
import { wholeBody } from './http/answers/refusalOf.ts';
import type { App } from './http/connection/fastify.ts';
import { hangupsSeen, holdOf, onHangup } from './http/connection/taken.ts';
import { rawShapes } from './http/json/body.ts';
import { bodyLimits } from './http/json/bodyLimits.ts';
import { withFollowUps } from './http/json/jobBody.ts';
import { sendJson, withJobs } from './http/json/serialize.ts';
import { answer, operation } from './http/openapi/operation.ts';
import { callerId } from './http/security/clientAddress.ts';
import { ref } from './schemas/common.ts';
import { SettleRequest, SettleResults } from './schemas/lease.ts';

const MAX_ITEMS = 1000;

/** An object without its braces. */
const membersOf = (object: object) => JSON.stringify(object).slice(1, -1);

/** The result of a nack or release: a few fields of the job. */
const released = ({ state, run_at }: Job) => membersOf({ state, run_at });
const acked = ({ state, enqueued }: Acked) =>
  withJobs(enqueued, (json) => `${membersOf({ state })},"enqueued":${json}`);
const nacked = ({ enqueued, ...job }: Nacked) =>
  enqueued ? withJobs(enqueued, (json) => `${released(job)},"enqueued":${json}`) : released(job);
const extended = ({ state, lease_expires_at, cancel_requested }: Extended) =>
  membersOf({ state, lease_expires_at, cancel_requested });

/** The results of a list of items, in the order of the request. */
async function resultsJson<Result>(
  answers: ItemAnswer<Result>[],
  membersOfResult: (result: Result) => string | Promise<string>,
  refused: (code: RefusalCode) => void,
) {
  const results: string[] = [];
  for (const item of answers) {
    const { id } = item;
    if ('result' in item) {
      const members = membersOfResult(item.result);
      const written = typeof members === 'string' ? members : await members;
      results.push(`{${membersOf({ id, status: 200 })},${written}}`);
    } else {
      refused(item.refusal.code);
      const problem = toProblem(item.refusal, true);
      results.push(JSON.stringify({ id, status: problem.status, problem }));
    }
  }
  return `[${results.join(',')}]`;
}

const listsJson = async (
  { acks, nacks, releases, extends: extensions }: Settled,
  refused: (code: RefusalCode) => void,
): Promise<string> =>
  `"acks":${await resultsJson(acks, acked, refused)},"nacks":${await resultsJson(nacks, nacked, refused)}` +
  `,"releases":${await resultsJson(releases, released, refused)}` +
  `,"extends":${await resultsJson(extensions, extended, refused)}`;

export function settleRoute(app: App, maxPayloadBytes: number): void {
  app.route({
    method: 'POST',
    url: '/jobs/settle',
    config: { verb: 'settle', raw: rawShapes(maxPayloadBytes).settle },
    bodyLimit: bodyLimits(maxPayloadBytes).jobs,
    schema: {
      body: ref(SettleRequest),
      ...operation({
        operationId: 'settleJobs',
        tags: ['Consuming'],
        summary: 'Ack, nack, release and extend many jobs at once',
        description:
          'Each item has its own result, with the status of the single call: a lost lease does not affect the others. Where Dibs has several databases, an item is 503 by itself when that of its job is away. One malformed item refuses the whole request. With `claim`, which is that of `POST /jobs/claim`, a worker needs one ' +
          'request for each job: the items are settled first, whatever happens to the claim.',
        answers: { 200: answer(ref(SettleResults), 'A result per item.') },
        refusals: ['batch_not_found'],
      }),
    },
    handler: async (request, reply) => {
      const { acks, nacks, releases, extends: extensions, claim } = request.body;
      const count = [acks, nacks, releases, extensions].reduce((sum, list) => sum + (list?.length ?? 0), 0);
      if (count > MAX_ITEMS) throw wholeBody(`must have at most ${MAX_ITEMS} items in all`);
      const trace = traceIn(request.headers);
      const items = {
        acks: acks?.map((item) => withFollowUps(item, trace)),
        nacks: nacks?.map((item) => withFollowUps(item, trace)),
        releases,
        extends: extensions,
      };
      const { refused } = app.requestCounts;
      if (claim === undefined)
        return sendJson(reply, `{${await listsJson(await request.verbs.settle(items), refused)}}`);
      const done = await request.verbs.settleAndClaim({
        ...items,
        claim: {
          ...claim,
          by: callerId(request),
          hold: () => holdOf(request),
          onHangup: (gone) => onHangup(request, gone),
        },
      });
      const problem = done.refusal ? `,"problem":${JSON.stringify(toProblem(done.refusal, true))}` : '';
      if (done.refusal) refused(done.refusal.code);
      const settled = await listsJson(done, refused);
      if (done.jobs.length > 0) await hangupsSeen();
      return sendJson(
        reply,
        withJobs(done.jobs, (jobs) => `{${settled},"jobs":${jobs}${problem}}`, claim.payload_format),
      );
    },
  });
}
