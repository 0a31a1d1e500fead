import { isTimeLimit } from '../postgres/errorClasses.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { restAfter } from '../shareOfTime.ts';
import { createAdaptiveWidth } from './adaptiveWidth.ts';
import type { ArrivalMark, Arrivals } from './arrivals.ts';
import { type ScannedQueue, type ScannedQueues, type ScanOrder, scanOrdersOf } from './scanOrder.ts';
import { rangesOf } from './scanRanges.ts';

const statements = {
  // Planned for each call, by statistics from the middle of a burst, it took 2 s over an empty piece. The patrol stood still.
  recall: prepared('floor/recall', row<{ count: number; ms: number }>()),
  store: planned('floor/store_floors'),
  drop: planned('floor/drop_floors'),
};

/** The number of jobs that one statement recalls. */
const CHUNK = 500;
/** A patrol rests at least as long as after a search of this length that found a hint. */
const LEAST_MS = 1;
/** A queue is patrolled again after this time: one from which jobs were claimed since, and one from which none were. */
const ACTIVE_MS = 1000;
const IDLE_MS = 30_000;
/** A search takes about this long. */
const SEARCH_MS = 10;

interface Recalled {
  jobs: number;
  ms: number;
}

const isSuspectIn = (memory: ScannedQueue): boolean =>
  scanOrdersOf(memory).some(({ floor }) => floor.isSuspect());

interface Context {
  db: Db;
  claims: { memories: ScannedQueues; wakeAll(): void };
  arrivals: Arrivals;
  notifier: Notifier;
}

/**
 * The duty that recalls jobs which a scan floor passed over: it gives them new positions. No claim looks below its floor.
 * Where a job may have come late there are marks, and those places are searched at once. And it patrols over all
 * that lies below the floors of this replica, piece by piece, and then from the beginning: a claim may have rolled back, or
 * a replica died before it made a mark.
 */
export function recallPassedOver({ db, claims, arrivals, notifier }: Context): () => Promise<number> {
  let marks: ArrivalMark[] = [];
  /** Where the order ended when it was set back, until the stored floors behind it are dropped. */
  let setBackTo: number | undefined;
  /** The patrol that has begun: where it goes on. */
  let patrol: { memory: ScannedQueue; from: number } | undefined;
  const width = createAdaptiveWidth(SEARCH_MS);
  /** No patrol goes on before this time. */
  let restUntil = 0;

  arrivals.listen({
    marked(found) {
      marks.push(...found);
    },
    setBack(end) {
      claims.memories.forget();
      marks = [];
      patrol = undefined;
      if (end !== undefined) setBackTo = Math.min(end, setBackTo ?? end);
      claims.wakeAll();
    },
  });

  /** Recalls what is ready below the floors, from position `first` to `last`. Returns how many jobs it recalled, and how long the searches took. */
  async function recall(memory: ScannedQueue, first: number, last: number): Promise<Recalled> {
    const total = { jobs: 0, ms: 0 };
    for (const order of scanOrdersOf(memory)) {
      const { jobs, ms } = await recallIn(order, memory.name, first, last);
      total.jobs += jobs;
      total.ms += ms;
    }
    return total;
  }

  async function recallIn(order: ScanOrder, name: string, first: number, last: number): Promise<Recalled> {
    const { queueId, hasKeys, floor } = order;
    const pieces = floor.below(first, last);
    const total = { jobs: 0, ms: 0 };
    if (pieces.length === 0) return total;
    let count: number;
    const ranges = rangesOf(pieces);
    do {
      const asked = { queue_id: queueId, has_keys: hasKeys, ...ranges, limit: CHUNK };
      const [found] = await arrivals.watch(
        () => [queueId],
        () => db.query(statements.recall, asked),
      );
      count = found?.count ?? 0;
      total.jobs += count;
      total.ms += found?.ms ?? 0;
      if (count > 0) notifier.ready(name);
    } while (count === CHUNK);
    return total;
  }

  /** Searches the places that marks name, as far as they lie below the floors. */
  async function recallMarked(): Promise<void> {
    const taken = marks;
    marks = [];
    const found = new Map<number, ArrivalMark[]>();
    for (const mark of taken) {
      const others = found.get(mark.queue_id);
      if (others) others.push(mark);
      else found.set(mark.queue_id, [mark]);
    }
    try {
      for (const memory of claims.memories.all())
        for (const { first, last } of joined(found.get(memory.queueId) ?? []))
          await recall(memory, first, last);
    } catch (error) {
      // A mark is seen once. The patrol finds what lies where the search takes too long.
      if (!isTimeLimit(error)) marks.push(...taken);
      throw error;
    }
  }

  function nextPatrol(): typeof patrol {
    const dueAt = ({ patrolledAt, claimed }: ScannedQueue) => patrolledAt + (claimed ? ACTIVE_MS : IDLE_MS);
    let memory: ScannedQueue | undefined;
    for (const one of claims.memories.all()) if (!memory || dueAt(one) < dueAt(memory)) memory = one;
    if (!memory || dueAt(memory) > performance.now()) return undefined;
    memory.claimed = false;
    width.begin();
    return { memory, from: 0 };
  }

  /** Patrols go one after the other. So a hint at one queue makes all of them quicker. */
  function rest(ms: number): number {
    const isSuspect = [...claims.memories.all()].some(isSuspectIn);
    return Math.max(
      restAfter(LEAST_MS, 'hinted patrols'),
      restAfter(ms, isSuspect ? 'hinted patrols' : 'patrols'),
    );
  }

  /** One piece of a patrol. Returns how long to rest after it. None when there is nothing to patrol over now. */
  async function patrolOn(): Promise<number | undefined> {
    patrol ??= nextPatrol();
    if (!patrol) return undefined;
    const { memory, from } = patrol;
    const to = from + width.get();
    const began = performance.now();
    let recalled: Recalled;
    try {
      recalled = await recall(memory, from, to);
    } catch (error) {
      if (!isTimeLimit(error)) throw error;
      width.failed();
      return rest(performance.now() - began);
    }
    const { jobs, ms } = recalled;
    if (jobs > 0) for (const { floor } of scanOrdersOf(memory)) floor.suspect();
    if (!patrol) return rest(ms);
    patrol.from = to + 1;
    width.took(ms);
    if (scanOrdersOf(memory).every(({ floor }) => to >= floor.highest())) {
      memory.patrolledAt = performance.now();
      patrol = undefined;
    }
    return rest(ms);
  }

  return async () => {
    if (setBackTo !== undefined) {
      const end = setBackTo;
      await db.query(statements.drop, { end });
      if (setBackTo === end) setBackTo = undefined;
    }
    if (marks.length > 0) await recallMarked();
    if (performance.now() >= restUntil) {
      const restMs = await patrolOn();
      if (restMs === undefined) return Number.POSITIVE_INFINITY;
      restUntil = performance.now() + restMs;
    }
    return restUntil - performance.now();
  };
}

/** Marks that touch each other become one. */
function joined(marks: ArrivalMark[]): ArrivalMark[] {
  const found: ArrivalMark[] = [];
  for (const mark of marks.toSorted((a, b) => a.first - b.first)) {
    const last = found.at(-1);
    if (last && mark.first <= last.last + 1) last.last = Math.max(last.last, mark.last);
    else found.push({ ...mark });
  }
  return found;
}

/** The duty that stores the floors that have much behind them, for replicas that start. */
export function storeFloors({ db, claims, arrivals }: Context): () => Promise<boolean> {
  return async () => {
    const server = arrivals.server();
    if (server === undefined) return false;
    const found = [...claims.memories.all()]
      .flatMap(scanOrdersOf)
      .flatMap(({ queueId, hasKeys, floor }) =>
        floor.takeUnstored().map((one) => ({ queueId, hasKeys, ...one })),
      );
    if (found.length === 0) return false;
    await db.query(statements.store, {
      queue_ids: found.map(({ queueId }) => queueId),
      ranks: found.map(({ rank }) => rank),
      positions: found.map(({ position }) => position),
      has_keys: found.map(({ hasKeys }) => hasKeys),
      server,
      newest: arrivals.newest(),
    });
    return false;
  };
}
