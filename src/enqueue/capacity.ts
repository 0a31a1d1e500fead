import { createBatcher } from '../batching/batcher.ts';
import { createRoundTrips, RANKS } from '../batching/roundTrips.ts';
import { queueFull } from '../errors.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { prepared } from '../postgres/statements.ts';
import type { Queue } from '../queues/cache.ts';

const room = prepared('enqueue/capacity');

/** A replica may insert this share of the room that it saw before it counts again. */
const CREDIT = 1 / 16;
/** That share, and the verdict that a queue is full, hold so many times as long as the count took. */
const HOLD = 10;
const LONGEST_HOLD_MS = 1000;

/** What one request brings a queue: how many jobs that will not be delayed, and its part of a full batch. */
export interface Share {
  jobs: number;
  weight: number;
}

/** How a queue with max_ready stands, as far as this replica knows; what it inserts at this moment is `inside`. */
interface Door {
  requests: number;
  inside: number;
  credit: number;
  full: boolean;
  until: number;
  /** Called when nobody is inside any more. */
  emptied: () => void;
}

/** Lets enqueues into queues with max_ready, as long as there is room. */
export function createCapacity(db: Database) {
  const doors = new Map<number, Door>();

  function doorOf(queueId: number): Door {
    let door = doors.get(queueId);
    if (!door) {
      door = { requests: 0, inside: 0, credit: 0, full: false, until: 0, emptied: () => undefined };
      doors.set(queueId, door);
    }
    return door;
  }

  function enter(door: Door, jobs: number): void {
    door.requests++;
    door.inside += jobs;
  }

  function leave(door: Door, jobs: number): void {
    door.requests--;
    door.inside -= jobs;
    if (door.requests === 0) door.emptied();
  }

  const empty = (door: Door) =>
    new Promise<void>((resolve) => {
      if (door.requests === 0) resolve();
      else door.emptied = resolve;
    });

  /** Lets in those for whom there is certainly room; tells who they are. */
  async function count(on: Db, queueId: number, door: Door, asked: Share[]): Promise<boolean[]> {
    const { inside } = door;
    door.credit = 0;
    const started = performance.now();
    const [row] = await on.query<{ room: number | null }>(room, [queueId]);
    const ended = performance.now();
    let left = (row?.room ?? Number.POSITIVE_INFINITY) - inside;
    const admitted = asked.map(({ jobs }) => {
      if (left <= 0 || jobs > left) return false;
      left -= jobs;
      enter(door, jobs);
      return true;
    });
    door.credit = Math.max(0, left * CREDIT);
    door.full = left <= 0 && inside === 0;
    door.until = ended + Math.min(HOLD * (ended - started), LONGEST_HOLD_MS);
    return admitted;
  }

  /** One count for all that have gathered. */
  const gathered = createBatcher<Share, boolean>({
    joinRoundTrip: createRoundTrips(db)(RANKS.enqueue),
    oneAtATime: true,
    weigh: ({ weight }) => weight,
    maxWeight: 1,
    async run(queueId, asked, trip) {
      const door = doorOf(queueId);
      const alone = door.requests === 0;
      const admitted = await count(trip.db, queueId, door, asked);
      if (alone || !admitted.includes(false)) return admitted;
      // What was inside may have been counted or not: once all of it has come through, there is no doubt.
      for (const [i, { jobs }] of asked.entries()) if (admitted[i]) leave(door, jobs);
      door.credit = 0;
      await empty(door);
      return count(trip.leave().db, queueId, door, asked);
    },
  });

  async function ask(queue: Queue, door: Door, share: Share): Promise<void> {
    if (performance.now() < door.until) {
      if (door.full) throw queueFull(queue.name);
      if (share.jobs < door.credit) {
        door.credit -= share.jobs;
        enter(door, share.jobs);
        return;
      }
    }
    if (!(await gathered(queue.id, share))) throw queueFull(queue.name);
  }

  /**
   * Runs work that inserts jobs into a queue, when there is room for them.
   * @throws Refusal `queue_full`
   */
  return async function admit<T>(queue: Queue, share: Share, work: () => Promise<T>): Promise<T> {
    if (queue.max_ready === null) return work();
    const door = doorOf(queue.id);
    await ask(queue, door, share);
    try {
      return await work();
    } finally {
      leave(door, share.jobs);
    }
  };
}

export type WithinCapacity = ReturnType<typeof createCapacity>;
