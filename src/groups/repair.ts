import type { Db } from '../postgres/pool.ts';
import { planned } from '../postgres/statements.ts';
import type { Queues } from '../queues/cache.ts';
import type { GroupHeads } from './heads.ts';

const blockedQueues = planned('groups/blocked_queues');
const headless = planned('groups/headless');

/** Groups looked at in one statement. */
const PAGE = 1000;
/** Looking takes this share of the time, and a look at everything comes at most so often. */
const SHARE = 1 / 50;
const LOOK_MS = 1000;

/**
 * Finds groups of blocked jobs without a head, and gives them one: of those whose replica died before it could, and those
 * into which something else than Dibs put jobs.
 */
export function createGroupRepair(context: {
  db: Db;
  queues: Queues;
  groups: GroupHeads;
  log: (error: unknown, message: string) => void;
}) {
  const { db, queues, groups, log } = context;
  /** What is left of this look at everything: queues, and up to which group the first of them was looked at. */
  let left: number[] = [];
  let after = '';
  const looking = new Map<string, { again: boolean }>();
  let stopped = false;

  /** Looks at the next groups of a queue; the last of them, or null when there was none. */
  async function page(queueId: number, from: string): Promise<string | null> {
    const [row] = await db.query<{ headless: string[] | null; last: string | null }>(headless, [
      queueId,
      from,
      PAGE,
    ]);
    if (row?.headless) await groups.advance(queueId, row.headless);
    return row?.last ?? null;
  }

  async function wholeQueue(name: string): Promise<void> {
    const queue = await queues.byName(name);
    for (let from: string | null = ''; queue && from !== null && !stopped; )
      from = await page(queue.id, from);
  }

  return {
    /** One page of the look at everything; when to take the next one. */
    async run(): Promise<number> {
      const started = performance.now();
      const rest = () => (performance.now() - started) * (1 / SHARE - 1);
      await groups.catchUp();
      if (left.length === 0) left = (await db.query<{ id: number }>(blockedQueues)).map((queue) => queue.id);
      const [first] = left;
      if (first !== undefined) {
        const last = await page(first, after);
        after = last ?? '';
        if (last === null) left.shift();
      }
      return left.length > 0 ? rest() : Math.max(LOOK_MS, rest());
    },

    /** Looks at all groups of one queue now, or as soon as the share of time allows. */
    lookAt(name: string): void {
      const already = looking.get(name);
      if (already) {
        already.again = true;
        return;
      }
      const look = { again: false };
      looking.set(name, look);
      const started = performance.now();
      void wholeQueue(name)
        .catch((error) => log(error, 'the groups of a queue could not be looked at'))
        .then(() => {
          const rest = (performance.now() - started) * (1 / SHARE - 1);
          setTimeout(() => {
            looking.delete(name);
            if (look.again && !stopped) this.lookAt(name);
          }, rest).unref();
        });
    },

    stop(): void {
      stopped = true;
    },
  };
}
