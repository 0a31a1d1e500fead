import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { restAfter } from '../shareOfTime.ts';
import type { GroupHeads } from './heads.ts';
import type { Narrowing } from './narrow.ts';

/** The groups that lack heads, each beside its queue, and the last group that the statement looked at. */
interface Headless {
  queue_ids: number[] | null;
  groups: string[] | null;
  last_queue_id: number | null;
  last_group: string | null;
  narrowing: number[] | null;
}

const headless = planned('groups/headless', row<Headless>());

/** One statement looks at this number of groups, of any number of queues. */
const PAGE = 1000;
/**
 * The longest rest after a look. On a busy machine a look takes long because it waits, and that costs nobody anything.
 */
const MOST_REST_MS = 200;
/** The longest rest after a look that found groups without a head. */
const MOST_REST_LOST_MS = 30;
/**
 * After a look that mended this number of queues, the next one begins sooner. More heads may be lost where it had been
 * already.
 */
const MANY_LOST = 100;

const NEVER_BEGUN = Number.NEGATIVE_INFINITY;

/** Where a look goes on: after the group `after` of a queue, up to the queue `to_queue_id`. */
interface Place {
  queue_id: number;
  after: string;
  to_queue_id: number;
}
const ALL_QUEUES: Place = { queue_id: 0, after: '', to_queue_id: 2 ** 31 - 1 };
const wholeQueue = (id: number): Place => ({ queue_id: id, after: '', to_queue_id: id });

/** What came of a look at some groups: the place after them, if there are more. */
interface Page {
  next: Place | undefined;
  lookMs: number;
  lost: boolean;
  mended: number;
}

/** The looks at all groups of single queues. */
function createQueueLooks({
  queues,
  page,
  failed,
}: {
  queues: Queues;
  page(from: Place): Promise<Page>;
  failed(error: unknown): void;
}) {
  /** By the name of the queue. `again` asks for one more look after the rest. */
  const looking = new Map<string, { again: boolean }>();
  let stopped = false;

  /** Looks at all groups of one queue. Returns how long the looks took. */
  async function lookThrough(name: string): Promise<number> {
    const queue = await queues.byName(name);
    let ms = 0;
    for (let from = queue && wholeQueue(queue.id); from && !stopped; ) {
      const { next, lookMs } = await page(from);
      ms += lookMs;
      from = next;
    }
    return ms;
  }

  /** Looks at all groups of one queue, now or as soon as the share of time allows. */
  function lookAt(name: string): void {
    const already = looking.get(name);
    if (already) {
      already.again = true;
      return;
    }
    const look = { again: false };
    looking.set(name, look);
    void lookThrough(name)
      .catch((error) => {
        failed(error);
        return 0;
      })
      .then((lookMs) => {
        const timer = setTimeout(
          () => {
            looking.delete(name);
            if (look.again && !stopped) lookAt(name);
          },
          restAfter(lookMs, 'groups'),
        );
        timer.unref();
      });
  }

  return {
    lookAt,
    stop(): void {
      stopped = true;
    },
  };
}

/**
 * Finds groups with blocked jobs but without a head, or with fewer heads than they may have, and advances them. A replica that dies before it advances a group
 * leaves such a group behind. Jobs that are inserted by SQL may do so, too.
 */
export function createGroupRepair(context: {
  db: Db;
  queues: Queues;
  groups: GroupHeads;
  narrowing: Pick<Narrowing, 'all'>;
  log: (error: unknown, message: string) => void;
}) {
  const { db, queues, groups, narrowing, log } = context;
  /** Where the look at all queues goes on, and when it began. */
  let place = ALL_QUEUES;
  let beganAt = NEVER_BEGUN;
  /** When the last one began that has seen all groups. */
  let seenFrom = NEVER_BEGUN;
  /** How many queues this look at all queues has mended. */
  let mendedSoFar = 0;

  const failed = (error: unknown) => log(error, 'the groups of a queue were not checked');

  /**
   * Looks at the next groups after a place, and advances those without a head. Returns the place after them, or
   * undefined when there were none, how long the look took, whether heads were missing, and how many queues it has
   * mended.
   */
  async function page(from: Place): Promise<Page> {
    const started = performance.now();
    const [found] = await db.query(headless, { ...from, limit: PAGE });
    const lookMs = performance.now() - started;
    const groupsOf = new Map<number, string[]>();
    for (const [i, queueId] of (found?.queue_ids ?? []).entries())
      groupsOf.set(queueId, [...(groupsOf.get(queueId) ?? []), found?.groups?.[i] as string]);
    const mended = await groups.advanceMany(groupsOf);
    await narrowing.all(found?.narrowing ?? []);
    const done = { lookMs, lost: groupsOf.size > 0, mended };
    if (!found || found.last_queue_id === null) return { next: undefined, ...done };
    return { next: { ...from, queue_id: found.last_queue_id, after: found.last_group as string }, ...done };
  }

  const queueLooks = createQueueLooks({ queues, page, failed });

  return {
    /** The duty: one page of the look at all queues. Returns the time in milliseconds until the next page, or false after the last one. */
    async run(): Promise<number | false> {
      await groups.catchUp();
      if (place === ALL_QUEUES) beganAt = performance.now();
      const { next, lookMs, lost, mended } = await page(place);
      place = next ?? ALL_QUEUES;
      mendedSoFar += mended;
      if (!next) {
        seenFrom = beganAt;
        const isSooner = mendedSoFar >= MANY_LOST;
        mendedSoFar = 0;
        return isSooner && MOST_REST_LOST_MS;
      }
      return lost
        ? Math.min(MOST_REST_LOST_MS, restAfter(lookMs, 'lost heads'))
        : Math.min(MOST_REST_MS, restAfter(lookMs, 'groups'));
    },

    /** Whether there are groups that could not be advanced, and nobody else knows of them. */
    hasMissed: groups.hasMissed,

    /** Whether all groups were seen by a look that began after this time. */
    hasSeenAll: (since: number): boolean => seenFrom >= since,

    /** Heads may have been lost: all groups are looked at again. */
    lookAgain(): void {
      beganAt = seenFrom = NEVER_BEGUN;
    },

    /** Jobs came into this group of a queue (into any of its groups, if none is named), and nobody has advanced it. */
    blocked(name: string, group: string | undefined): void {
      if (group === undefined) queueLooks.lookAt(name);
      else void queues.byName(name).then((queue) => queue && groups.advance(queue.id, [group]), failed);
    },

    stop: queueLooks.stop,
  };
}

export type GroupRepair = ReturnType<typeof createGroupRepair>;
