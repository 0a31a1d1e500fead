import { ROOT_CONTEXT, type Span, trace } from '@opentelemetry/api';
import type { Job } from '../job.ts';
import type { NewJob } from '../verbs/enqueue.ts';
import type { Ack, ItemAnswer, Nack, Settled, SettleRequest } from '../verbs/settle.ts';
import type { BatchLinks } from './batchLinks.ts';
import { type Call, isOfCaller, type Outcome, observe, type Run } from './call.ts';
import type { LeaseTraces } from './leaseTraces.ts';
import { batchesOf, createAll, endCreated, linkCreated } from './send.ts';
import { contextOf, linksTo, type Spans } from './spans.ts';

/** A lease that is settled, and why it was not. */
interface Item {
  verb: string;
  id: string;
  error?: unknown;
}

/** What a request settles. */
interface Settlement<Result> {
  verb: string;
  ids: string[];
  /** One job, by a request for one. */
  isOne: boolean;
  followUps: NewJob[];
  itemsOf(outcome: Outcome<Result>): Item[];
  /** The jobs that were inserted, each at the place of its follow-up. */
  enqueuedBy(result: Result): (Job | undefined)[];
}

const VERBS = { acks: 'ack', nacks: 'nack', releases: 'release', extends: 'extend' } as const;
const LISTS = Object.keys(VERBS) as (keyof typeof VERBS)[];

function settlementOf(request: SettleRequest): Settlement<Settled> {
  const withFollowUps = [...(request.acks ?? []), ...(request.nacks ?? [])];
  const followUpsOf = ({ enqueue = [] }: Ack | Nack) => enqueue;
  const all = LISTS.flatMap((list) =>
    (request[list] ?? []).map(({ id }, i) => ({ list, i, item: { verb: VERBS[list], id } })),
  );
  return {
    verb: 'settle',
    isOne: false,
    ids: all.map(({ item }) => item.id),
    followUps: withFollowUps.flatMap(followUpsOf),
    itemsOf: ({ result, error }) =>
      all.map(({ list, i, item }) => {
        const answer = result?.[list][i];
        return { ...item, error: error ?? (answer && 'refusal' in answer ? answer.refusal : undefined) };
      }),
    enqueuedBy: ({ acks, nacks }) =>
      ([...acks, ...nacks] as ItemAnswer<{ enqueued?: Job[] }>[]).flatMap((answer, i) =>
        followUpsOf(withFollowUps[i] as Ack | Nack).map((_, at) =>
          'result' in answer ? answer.result.enqueued?.[at] : undefined,
        ),
      ),
  };
}

/**
 * The spans of settlements. A request that names no trace is seen in the traces of its jobs, where this replica leased
 * them. Its follow-ups then belong to those, too (src/settle/followUps.ts).
 */
export function createSettle(spans: Spans, leases: LeaseTraces, batchLinks: BatchLinks) {
  /** Spans for the jobs, in their traces. */
  function endItems(items: Item[], own: Span | undefined, { ended }: Outcome<unknown>, call: Call): void {
    const links = linksTo([own?.spanContext()]);
    for (const { verb, id, error } of items) {
      const lease = leases.find(id);
      if (!lease || isOfCaller(lease.context, call)) continue;
      const { queue, batch } = lease;
      const message = { type: 'settle', verb, queues: [queue], batches: [batch], id } as const;
      const span = spans.start(message, call.began, contextOf(lease.context), links);
      spans.end(span, { ended, error, statements: call.statements });
    }
  }

  async function settle<R>(run: Run<R>, settlement: Settlement<R>, call: Call): Promise<Outcome<R>> {
    const { verb, ids, isOne, followUps } = settlement;
    const found = ids.map(leases.find);
    const isUnknown = found.every((lease) => lease === undefined);
    const parent = call.parent ?? (isUnknown ? ROOT_CONTEXT : undefined);
    const about = isOne ? { id: ids[0] } : { count: ids.length };
    const queues = found.map((lease) => lease?.queue);
    const batches = found.map((lease) => lease?.batch);
    const message = { type: 'settle', verb, queues, batches, ...about } as const;
    const links = linksTo(found.map((lease) => lease?.context));
    const own = parent && spans.start(message, call.began, parent, links);
    const isTraced = own !== undefined && call.parent !== undefined;
    const created = isTraced ? createAll(spans, followUps, call, trace.setSpan(ROOT_CONTEXT, own)) : [];
    const [outcome, link] = await Promise.all([
      observe(run, call),
      batchLinks.find(isTraced ? batchesOf(followUps) : []),
    ]);
    const { result, ended, error } = outcome;
    linkCreated(link, followUps, created, own);
    if (result !== undefined) endCreated(created, settlement.enqueuedBy(result), ended);
    if (own) {
      // A nack and a release tell the job.
      const { queue } = (result ?? {}) as Partial<Job>;
      if (isOne && queue !== undefined) spans.name(own, verb, queue);
      spans.end(own, { ended, error, statements: call.statements });
    }
    endItems(settlement.itemsOf(outcome), own, outcome, call);
    return outcome;
  }

  const settleOne =
    (verb: string) =>
    (run: Run, { id, enqueue = [] }: Ack | Nack, call: Call) =>
      settle(
        run,
        {
          verb,
          ids: [id],
          isOne: true,
          followUps: enqueue,
          itemsOf: ({ error }) => [{ verb, id, error }],
          enqueuedBy: (result) => (result as { enqueued?: Job[] }).enqueued ?? [],
        },
        call,
      );

  return {
    ack: settleOne('ack'),
    nack: settleOne('nack'),
    release: settleOne('release'),
    settle: (run: Run, request: SettleRequest, call: Call) =>
      settle(run as Run<Settled>, settlementOf(request), call),
  };
}
