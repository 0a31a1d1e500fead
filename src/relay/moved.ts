import { firstOfKeys } from '../enqueue/insert.ts';
import type { Moved } from '../groups/heads.ts';
import type { JobState } from '../job.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { textArray } from '../postgres/textArray.ts';
import type { Queue } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';

const statements = {
  heldKeys: prepared('enqueue/held_keys', row<{ unique_key: string }>()),
  put: planned('transfer/import_jobs'),
  putHistory: planned('relay/put_history'),
};

/** A line of an export, as far as it is read here. */
interface Line {
  state: JobState;
  unique_key?: string;
  group_key?: string;
  /** What happened to the job. */
  history?: unknown[];
}

function arrivingState({ state, group_key }: Line): JobState {
  if (state !== 'ready' && state !== 'blocked') return state;
  return group_key === undefined ? 'ready' : 'blocked';
}

/**
 * Puts in jobs that an operation moved here from another database, as sql/operations/move.sql does within one. A job whose
 * unique key another one holds here is dropped.
 */
export async function putMoved(
  transaction: Db,
  queue: Queue,
  jobs: { id: string; line: string }[],
): Promise<Moved[]> {
  const all = jobs.map(({ id, line }) => {
    const read = JSON.parse(line) as Line;
    const unique_key = (read.state !== 'dead' && read.unique_key) || null;
    return { id, line: read, state: arrivingState(read), group: read.group_key ?? null, unique_key };
  });
  const unique_keys = textArray(all.flatMap(({ unique_key }) => unique_key ?? []));
  const rows = await transaction.query(statements.heldKeys, { queue_id: queue.id, unique_keys });
  const held = new Set(rows.map((one) => one.unique_key));
  const free = firstOfKeys(all).filter(({ unique_key }) => unique_key === null || !held.has(unique_key));
  const positions = await nextPositions(transaction, free.length);
  const lines = free.map(({ line: { history: _, ...line }, id, state }, i) => ({
    ...line,
    id,
    state,
    queue_id: queue.id,
    position: positions[i],
    is_head: false,
    lease_token: null,
  }));
  await transaction.query(statements.put, {
    lines: JSON.stringify(lines),
    before: 0,
    from_ids: [queue.id],
    to_ids: [queue.id],
    from_all: [],
    to_all: [],
  });
  const histories = free.flatMap(({ id, line: { history } }) => (history ? { id, history } : []));
  if (histories.length > 0)
    await transaction.query(statements.putHistory, { queue_id: queue.id, jobs: JSON.stringify(histories) });
  return free;
}
