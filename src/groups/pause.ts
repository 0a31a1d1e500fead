import { rethrowPartlyDone, tooManyPausedGroups } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { GroupStatus } from '../verbs/queues.ts';
import type { RequestOf } from '../verbs.ts';
import { afterHolders } from './afterHolders.ts';
import type { GroupHeads } from './heads.ts';

/** So many groups of a queue may be paused at once. The names stand in the row of the queue. */
export const MOST_PAUSED_GROUPS = 1000;

const statements = {
  lock: planned('groups/pause_lock', row<{ is_paused: boolean; paused: number }>()),
  pause: planned('groups/pause'),
  head: planned('groups/pause_head', row<{ id: string }>()),
  next: planned('groups/pause_next', row<{ id: string; is_made: boolean }>()),
  resume: planned('groups/resume', row<{ id: number }>()),
  resumeHead: planned('groups/resume_head'),
};

/** Pauses and resumes groups. See docs/decisions/0100-paused-groups.md. */
export function createGroupPause(context: {
  db: Database;
  queues: Queues;
  arrivals: Arrivals;
  groups: GroupHeads;
  notifier: Notifier;
  /** The queue of this name as it is now. @throws Refusal `queue_not_found` */
  current(name: string): Promise<Queue>;
}) {
  const { db, queues, arrivals, groups, notifier, current } = context;

  /** Holds the heads of a group, whoever changes the group at this moment. */
  async function holdHead(queue_id: number, group: string): Promise<void> {
    const on = inTurnOf(db, { queue: queue_id });
    for (;;) {
      const [head] = await on.query(statements.head, { queue_id, group });
      if (head) return;
      const [next] = await on.query(statements.next, { queue_id, group });
      if (!next || next.is_made) return;
    }
  }

  async function holdHeads(queue_id: number, group: string): Promise<void> {
    await holdHead(queue_id, group);
    await afterHolders(db, queue_id);
    await holdHead(queue_id, group);
  }

  /** False: the queue is gone. @throws Refusal `too_many_paused_groups` */
  const note = ({ id: queue_id, name }: Queue, group: string, by?: string): Promise<boolean> =>
    inTurnOf(db, { queue: queue_id, by }).transaction(async (transaction) => {
      const [found] = await transaction.query(statements.lock, { queue_id, group });
      if (!found || found.is_paused) return found !== undefined;
      if (found.paused >= MOST_PAUSED_GROUPS) throw tooManyPausedGroups(name, MOST_PAUSED_GROUPS);
      await transaction.query(statements.pause, { queue_id, group });
      return true;
    });

  return {
    async pause({ queue: name, group, by }: RequestOf<'pauseGroup'>): Promise<GroupStatus> {
      let queue = await queues.open(name);
      while (!(await note(queue, group, by))) {
        queues.changed(name);
        queue = await queues.open(name);
      }
      await holdHeads(queue.id, group).catch(rethrowPartlyDone);
      return { queue: name, group, paused: true };
    },

    async resume({ queue: name, group, by }: RequestOf<'resumeGroup'>): Promise<GroupStatus> {
      const queue = await current(name);
      const { id: queue_id } = queue;
      const resume = async () => {
        const positions = await nextPositions(db, queue.group_concurrency);
        await inTurnOf(db, { queue: queue_id, by }).transaction(async (transaction) => {
          const [resumed] = await transaction.query(statements.resume, { queue_id, group });
          if (resumed) await transaction.query(statements.resumeHead, { queue_id, group, positions });
        });
      };
      await arrivals.watch(() => [queue_id], resume);
      notifier.ready(name);
      await groups.advance(queue_id, [group]);
      return { queue: name, group, paused: false };
    },
  };
}
