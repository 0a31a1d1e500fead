import type { Engine } from '../src/engine.ts';
import { invalidRequest, Refusal } from '../src/errors.ts';
import type { Job } from '../src/types.ts';
import { noBodyIsEmpty, rawShapes } from './body.ts';
import { toProblem } from './errors.ts';
import type { App } from './fastify.ts';
import { answer, operation } from './operation.ts';
import { ref } from './schemas/common.ts';
import { SettleRequest, SettleResults } from './schemas/lease.ts';

const MOST_ITEMS = 1000;

/** What the list shows of a job that went back. */
const standing = ({ state, run_at }: Job) => ({ state, run_at });

async function results<I extends { id: string }, R>(
  items: I[] | undefined,
  verb: (item: I) => Promise<R>,
  show: (result: R) => object,
): Promise<object[]> {
  return Promise.all(
    (items ?? []).map(async (item) => {
      try {
        return { id: item.id, status: 200, ...show(await verb(item)) };
      } catch (error) {
        // An outage answers the whole call; what a stale lease spoils is its own item.
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
      if (count > MOST_ITEMS)
        throw invalidRequest([
          { in: 'body', path: '', message: `must have at most ${MOST_ITEMS} items in all` },
        ]);
      const [acked, nacked, released, extended] = await Promise.all([
        results(acks, engine.ack, ({ state }) => ({ state, enqueued: [] })),
        results(nacks, engine.nack, standing),
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
