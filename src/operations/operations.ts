import { refuse } from '../enqueue/checks.ts';
import { operationNotFound } from '../errors.ts';
import { idSource, isUuid } from '../ids.ts';
import type { JobState } from '../job.ts';
import { filterParameters } from '../looking/jobFilter.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import type { Queue, Queues } from '../queues/cache.ts';
import type { Places } from '../queues/elsewhere.ts';
import type {
  Operation,
  OperationList,
  OperationName,
  OperationPage,
  OperationRequest,
  OperationVerb,
} from '../verbs/operations.ts';
import { callPoint } from './callPoint.ts';
import { boundsFor, tooManyRunning } from './running.ts';

/** The states of the jobs that each verb may be asked to touch. */
const STATES_OF: Record<OperationVerb, JobState[]> = {
  cancel: ['scheduled', 'ready', 'blocked', 'leased', 'dead'],
  retry: ['dead', 'scheduled'],
  delete: ['scheduled', 'ready', 'blocked', 'completed', 'cancelled', 'dead'],
  move: ['scheduled', 'ready', 'blocked', 'dead'],
};

const statements = {
  insert: planned('operations/insert', row<Operation>()),
  running: planned('operations/running', row<{ own: number }>()),
  noteLeases: planned('operations/note_leases', row<Operation>()),
  find: planned('operations/find', row<Operation>()),
  list: planned('operations/list', row<Operation>()),
  stop: planned('operations/stop'),
};

/** @throws Refusal `invalid_request` */
function check({ verb, queue, to, filter }: OperationRequest): void {
  if (verb === 'move' && to === undefined) throw refuse('/to', 'is required: the queue to which to move');
  if (verb !== 'move' && to !== undefined) throw refuse('/to', 'is for move only');
  if (to === queue) throw refuse('/to', 'must be another queue');
  for (const [i, state] of filter.states.entries())
    if (!STATES_OF[verb].includes(state))
      throw refuse(`/filter/states/${i}`, `must be one of ${STATES_OF[verb].join(', ')} for this verb`);
}

/** Starts operations, shows them and stops them. work.ts runs them: `started` makes it begin at once. */
export function operationAdmin(context: {
  db: Database;
  queues: Queues;
  clock: Clock;
  /** The queue of this name as it is now. @throws Refusal `queue_not_found` */
  current(name: string): Promise<Queue>;
  started(): void;
  /** Set where there are several databases. */
  crossing?: Places | undefined;
}) {
  const { db, queues, clock, current, started, crossing } = context;
  const newId = idSource(clock.now);

  async function get({ id, visible = null }: OperationName): Promise<Operation> {
    const [found] = isUuid(id) ? await db.query(statements.find, { id, visible }) : [];
    if (!found) throw operationNotFound(id);
    return found;
  }

  /** The queue that jobs go to. Claims look for fairness keys only in a queue that is marked for them. */
  async function targetOf(name: string, fair: boolean): Promise<Pick<Queue, 'id' | 'name'>> {
    const place = await crossing?.findElsewhere(name);
    if (place) return { id: place.queueId, name };
    const target = await current(name);
    if (fair) await queues.find(name, true);
    return target;
  }

  return {
    get,

    list: async ({ limit, after, queue, state, visible = null }: OperationPage): Promise<OperationList> => ({
      operations: await db.query(statements.list, {
        limit,
        after: after ?? null,
        queue: queue ?? null,
        state: state ?? null,
        visible,
      }),
    }),

    /** Starts an operation. It touches only jobs that are there now. */
    async start(request: OperationRequest): Promise<Operation> {
      check(request);
      const wanted = filterParameters(request.filter, '/filter');
      const { verb, filter, dry_run = false } = request;
      const queue = await current(request.queue);
      const target = request.to === undefined ? undefined : await targetOf(request.to, queue.fair);
      const point = await callPoint(db);
      const by = request.by ?? null;
      const bounds = boundsFor(by);
      const operation = await db.transaction(async (transaction) => {
        const id = newId(0);
        const [kept] = await transaction.query(statements.insert, {
          id,
          verb,
          queue_id: queue.id,
          queue: queue.name,
          to_id: target?.id ?? null,
          to: target?.name ?? null,
          states: [...new Set(filter.states)],
          ...wanted,
          dry_run,
          ...point,
          by,
          ...bounds,
        });
        if (!kept) {
          const [running] = await transaction.query(statements.running, { by });
          throw tooManyRunning(running?.own ?? 0, bounds);
        }
        if (!filter.states.includes('leased')) return kept;
        const [noted] = await transaction.query(statements.noteLeases, { id, queue_id: queue.id, ...wanted });
        return noted as Operation;
      });
      started();
      return operation;
    },

    /** Stops an operation. What it did stays done. One that has ended stays as it is. */
    async stop({ id, visible = null }: OperationName): Promise<Operation> {
      if (isUuid(id)) await db.query(statements.stop, { id, visible });
      return get({ id, visible });
    },
  };
}
