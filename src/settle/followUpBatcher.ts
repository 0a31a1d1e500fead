import { createBatcher } from '../batching/batcher.ts';
import type { JoinRoundTrip, RoundTrip } from '../batching/roundTrip.ts';
import { type Decided, dealOut, toJobs } from '../enqueue/insert.ts';
import { type Inserted, type JobToInsert, newJobParameters } from '../enqueue/newJob.ts';
import { weigh } from '../enqueue/ways.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Moved } from '../groups/heads.ts';
import type { Job } from '../job.ts';
import { prepared, row } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';
import { type Item, ids, tokens } from './settleBatch.ts';

const statement = prepared('settle/ack_with_follow_ups', row<AckedRow | InsertedRow>());

const BATCH_ROWS = 250;

interface AckedRow extends Record<Exclude<keyof Inserted, 'id'>, null> {
  is_acked: true;
  id: string;
  group: string | null;
}

interface InsertedRow extends Decided {
  is_acked: false;
  group: null;
}

/** An ack whose follow-ups go into one queue. */
interface AckWithJobs {
  item: Item;
  followUps: JobToInsert[];
  /**
   * Some follow-ups have no trace of their own, and take that of the acked job. A job that has one is not acked here.
   */
  needsTrace: boolean;
}

/** A job that was acked, and its follow-ups. */
export interface AckedWithJobs {
  row: Pick<Moved, 'id' | 'group'>;
  inserted: Job[];
}

type Outcome = AckedWithJobs | { error: unknown } | undefined;

const nextQueueOf = ({ followUps: [first] }: AckWithJobs) => (first as JobToInsert).queue.id;

const byAckedId = (a: AckWithJobs, b: AckWithJobs) => (a.item.id < b.item.id ? -1 : 1);

/**
 * Acks jobs and inserts their follow-ups, many with one statement, in round trips of their queue that wait only for a
 * short time. The result is undefined for a job that was not acked: its lease is lost, or it has to be looked at.
 */
export function createFollowUpBatcher(context: {
  joinRoundTrip: JoinRoundTrip;
  arrivals: Arrivals;
  newId: (queueId: number) => string;
  inserted: (jobs: Job[]) => void;
}) {
  const { joinRoundTrip, arrivals, newId, inserted } = context;

  /** Runs the statement for acks of one queue, whose follow-ups go into one queue. */
  async function ackAll(queueId: number, nextId: number, acks: AckWithJobs[], on: RoundTrip['db']) {
    const sorted = acks
      .toSorted(byAckedId)
      .map((ack) => ({ ...ack, ack, jobIds: ack.followUps.map(() => newId(nextId)) }));
    const items = sorted.map(({ item }) => item);
    const rows = await on.query(statement, {
      queue_id: queueId,
      next_queue_id: nextId,
      acked_ids: ids(items),
      lease_tokens: tokens(items),
      needs_trace: sorted.map(({ needsTrace }) => needsTrace),
      follows: sorted.flatMap(({ item, followUps }) => followUps.map(() => item.id)),
      ...newJobParameters(
        sorted.flatMap(({ jobIds }) => jobIds),
        sorted.flatMap(({ followUps }) => followUps),
      ),
    });
    const acked = new Map<string, AckedRow>();
    const decided: InsertedRow[] = [];
    for (const found of rows) {
      if (found.is_acked) acked.set(found.id, found);
      else decided.push(found);
    }
    const counted = sorted.filter(({ item }) => acked.has(item.id));
    const followUps = counted.map((ack) => ack.followUps);
    const jobIds = counted.flatMap((ack) => ack.jobIds);
    const all = counted.length > 0 ? toJobs(followUps.flat(), jobIds, decided) : [];
    inserted(all);
    const dealt = dealOut(all, followUps);
    return new Map<AckWithJobs, Outcome>(
      counted.map(({ ack, item }, i) => [
        ack,
        { row: acked.get(item.id) as AckedRow, inserted: dealt[i] as Job[] },
      ]),
    );
  }

  const batched = createBatcher<AckWithJobs, Outcome>({
    joinRoundTrip,
    weigh: ({ followUps }) => weigh(followUps, BATCH_ROWS),
    maxWeight: 1,
    clash: ({ item }) => item.id,
    async run(queueId, acks, trip) {
      const { db } = trip as RoundTrip;
      const byNext = new Map<number, AckWithJobs[]>();
      for (const ack of acks) byNext.set(nextQueueOf(ack), [...(byNext.get(nextQueueOf(ack)) ?? []), ack]);
      const all = await Promise.all(
        Array.from(byNext, ([nextId, some]) =>
          arrivals
            .watch(
              () => [nextId],
              () => ackAll(queueId, nextId, some, db),
            )
            .catch((error) => {
              if (byNext.size === 1) throw error;
              // The acks with another next queue may be committed: each statement fails alone.
              return new Map<AckWithJobs, Outcome>(some.map((ack) => [ack, { error }]));
            }),
        ),
      );
      const outcomes = new Map(all.flatMap((some) => [...some]));
      return acks.map((ack) => outcomes.get(ack));
    },
  });

  return async (queue: Queue, ack: AckWithJobs): Promise<AckedWithJobs | undefined> => {
    const outcome = await batched(queue.id, ack);
    if (outcome && 'error' in outcome) throw outcome.error;
    return outcome;
  };
}

export type FollowUpBatcher = ReturnType<typeof createFollowUpBatcher>;
