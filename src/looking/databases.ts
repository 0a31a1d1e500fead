import { HOME } from '../config/databases.ts';
import type { Depths } from '../counting/depths.ts';
import { databaseNotFound, invalidRequest, queueElsewhere } from '../errors.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Narrowed } from '../verbs/callers.ts';
import type { OverviewRequest } from '../verbs/counting.ts';
import type { DatabaseStatus } from '../verbs/databases.ts';
import type { RelocateRequest } from '../verbs/operations.ts';
import type { createOverview } from './overview.ts';

const countQueues = planned('looking/count_queues', row<{ queues: number }>());

/** The verbs about the only database. Where there are several, src/databases answers, and asks each of them here. */
export function createOnlyDatabase(context: {
  db: Db;
  depths: Pick<Depths, 'watch'>;
  overview: ReturnType<typeof createOverview>;
  /** @throws Refusal `queue_not_found` */
  current(queue: string): Promise<unknown>;
}) {
  const { db, depths, overview, current } = context;

  async function only({ visible = null, mayUse }: Narrowed): Promise<DatabaseStatus> {
    await depths.watch();
    const seen: OverviewRequest = { limit: 0, visible, ...(mayUse ? { mayUse } : {}) };
    const [[found], { complete, counts }] = await Promise.all([
      db.query(countQueues, { visible }),
      overview(seen),
    ]);
    return { name: HOME, state: 'open', queues: found?.queues ?? 0, ...(complete ? { counts } : {}) };
  }

  return {
    list: async (request: Narrowed): Promise<DatabaseStatus[]> => [await only(request)],

    async configure(request: { name: string; accepts_queues: boolean }): Promise<DatabaseStatus> {
      if (request.name !== HOME) throw databaseNotFound(request.name);
      if (!request.accepts_queues)
        throw invalidRequest([
          { path: '/accepts_queues', message: 'must be true: there is no other database for new queues' },
        ]);
      return only({});
    },

    async relocate({ queue, to }: RelocateRequest): Promise<never> {
      await current(queue);
      if (to !== HOME) throw invalidRequest([{ path: '/to', message: 'must be the name of a database' }]);
      throw queueElsewhere(queue, HOME);
    },
  };
}
