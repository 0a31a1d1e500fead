import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import { restAfter } from '../shareOfTime.ts';
import type { GroupHeads } from './heads.ts';

const statements = {
  blockedQueues: planned('groups/blocked_queues', row<{ id: number }>()),
  headless: planned('groups/headless', row<{ headless: string[] | null; last: string | null }>()),
};

/** One statement looks at this number of groups. */
const PAGE = 1000;
/** The looks take this share of the time. A look at all queues begins at most once in LOOK_MS. */
const SHARE = 1 / 50;
const LOOK_MS = 1000;

/**
 * Finds groups with blocked jobs but without a head, and advances them. A replica that dies before it advances a group
 * leaves such a group behind. Jobs that are inserted by SQL may do so, too.
 */
export function createGroupRepair(context: {
  db: Db;
  queues: Queues;
  groups: GroupHeads;
  log: (error: unknown, message: string) => void;
}) {
  const { db, queues, groups, log } = context;
  /** The queues that are left in this look at all queues, and the group that it has reached in the first of them. */
  let left: number[] = [];
  let after = '';
  /** The looks at single queues, by name. `again` asks for one more look after the rest. */
  const looking = new Map<string, { again: boolean }>();
  let stopped = false;

  const failed = (error: unknown) => log(error, 'the groups of a queue were not checked');

  /** Looks at the next groups of a queue. Returns the last one, or null when there was none. */
  async function page(queueId: number, from: string): Promise<string | null> {
    const [row] = await db.query(statements.headless, { queue_id: queueId, after: from, limit: PAGE });
    if (row?.headless) await groups.advance(queueId, row.headless);
    return row?.last ?? null;
  }

  async function wholeQueue(name: string): Promise<void> {
    const queue = await queues.byName(name);
    for (let from: string | null = ''; queue && from !== null && !stopped; )
      from = await page(queue.id, from);
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
    const started = performance.now();
    void wholeQueue(name)
      .catch(failed)
      .then(() => {
        const timer = setTimeout(
          () => {
            looking.delete(name);
            if (look.again && !stopped) lookAt(name);
          },
          restAfter(performance.now() - started, SHARE),
        );
        timer.unref();
      });
  }

  return {
    /** The duty: one page of the look at all queues. Returns the time in milliseconds until the next page. */
    async run(): Promise<number> {
      const started = performance.now();
      await groups.catchUp();
      if (left.length === 0) left = (await db.query(statements.blockedQueues)).map((queue) => queue.id);
      const [first] = left;
      if (first !== undefined) {
        const last = await page(first, after);
        after = last ?? '';
        if (last === null) left.shift();
      }
      const rest = restAfter(performance.now() - started, SHARE);
      return left.length > 0 ? rest : Math.max(LOOK_MS, rest);
    },

    /** Jobs came into this group of a queue (into any of its groups, if none is named), and nobody has advanced it. */
    blocked(name: string, group: string | undefined): void {
      if (group === undefined) lookAt(name);
      else void queues.byName(name).then((queue) => queue && groups.advance(queue.id, [group]), failed);
    },

    stop(): void {
      stopped = true;
    },
  };
}

export type GroupRepair = ReturnType<typeof createGroupRepair>;
