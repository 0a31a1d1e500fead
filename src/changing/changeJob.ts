import { refuse, runAtOf } from '../enqueue/checks.ts';
import { jobFinished, jobLeased } from '../errors.ts';
import type { Arrivals } from '../floor/arrivals.ts';
import type { GroupHeads } from '../groups/heads.ts';
import type { Job, JobRow } from '../job.ts';
import { CHANGED, columnOf, nameOf } from '../jobFields.ts';
import type { AskedChange, ChangedParameters } from '../jobShapes.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Database } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { inTurnOf } from '../postgres/transactions.ts';
import type { Queues } from '../queues/cache.ts';
import { nextPositions } from '../queues/positions.ts';
import type { Notifier } from '../replicas/notifier.ts';
import type { Signed } from '../verbs/callers.ts';
import type { JobChange } from '../verbs/jobs.ts';

const change = planned('changing/change', row<JobRow>());

/** The parameters of what is set as it is sent. */
function asSent(change: JobChange): ChangedParameters {
  const parameters = CHANGED.map((column) => {
    const name = nameOf(column) as keyof AskedChange;
    const value = change[name] ?? null;
    return [name, columnOf(column).type === 'json' && value !== null ? JSON.stringify(value) : value];
  });
  return Object.fromEntries(parameters);
}

/** Changes jobs that wait or are dead. */
export function createChangeJob(context: {
  db: Database;
  clock: Clock;
  queues: Queues;
  arrivals: Arrivals;
  notifier: Notifier;
  groups: GroupHeads;
  getJob(look: { id: string }): Promise<Job>;
}) {
  const { db, clock, queues, arrivals, notifier, groups, getJob } = context;

  async function refusalOf(id: string, { max_attempts = 1000 }: JobChange): Promise<Error> {
    const { state, attempt } = await getJob({ id });
    if (state === 'leased') return jobLeased(id);
    if (state === 'completed' || state === 'cancelled') return jobFinished(id, state);
    const least = state === 'dead' ? attempt : attempt + 1;
    if (max_attempts < least)
      return refuse('/max_attempts', `must be at least ${least}: ${attempt} of its attempts are used up`);
    // It changed its state between the two looks.
    return jobLeased(id);
  }

  /** @throws Refusal `job_leased`, `job_finished`, `job_not_found`, `invalid_request` */
  return async function changeJob({
    id,
    change: asked,
    by,
  }: { id: string; change: JobChange } & Signed): Promise<Job> {
    const queue = await queues.ofJob(id);
    const { payload, run_at, expires_in_seconds } = asked;
    const time = run_at === undefined ? null : runAtOf({ run_at }, '', clock.now());
    const [changed] = await arrivals.watch(
      () => [queue.id],
      async () => {
        const [position = 0] = await nextPositions(db, 1);
        return inTurnOf(db, { queue: queue.id, by }).query(change, {
          ...asSent(asked),
          queue_id: queue.id,
          id,
          position,
          payload: payload?.text ?? null,
          run_at: time?.toISOString() ?? null,
          expires_in_seconds: expires_in_seconds ?? null,
          by: by ?? null,
        });
      },
    );
    if (!changed) throw await refusalOf(id, asked);
    if (changed.state === 'ready') notifier.ready(queue.name);
    await groups.advanceAfter([changed]);
    return { ...changed, queue: queue.name };
  };
}
