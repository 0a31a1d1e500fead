import { JOB_STATES } from '../job.ts';
import { family, labelled } from '../metrics/family.ts';
import { processFamilies, type ReplicaParts } from '../metrics/replica.ts';
import type { Tally } from '../metrics/tally.ts';
import { waitFamily, workFamily } from '../metrics/times.ts';
import { EVERYTHING_ELSE, GONE, type TotalRow } from '../metrics/totalRow.ts';
import type { Totals } from '../metrics/totals.ts';
import { eachOf, inSlices } from '../slices.ts';
import { EVENT_HELP, EVENTS, type Event, type Family, type MetricsAnswer } from '../verbs/counting.ts';
import type { Depth, Wait } from './depthBook.ts';
import { type Depths, drainSeconds } from './depths.ts';

/** No queue can have these names: they have parentheses. */
const OTHER = '(other)';
const GONE_QUEUES = '(gone)';

const MAX = 'Over all replicas: each tells the same, so take the max.';
const MAX_COUNTED = 'Each replica counts for itself: take the max.';

/** Whether a caller may see a queue. */
type MayUse = (queue: string) => boolean;

interface Shown {
  row: TotalRow;
  /** Its labels, as they are written. */
  labels: string;
  depth: Depth | undefined;
  wait: Wait | undefined;
}

const eventFamily = (event: Event, shown: Shown[]): Family =>
  family(
    'counter',
    `dibs_jobs_${event}_total`,
    `${EVENT_HELP[event].metric} ${MAX}`,
    shown.map(({ row, labels }) => [row[event], labels]),
  );

function depthFamilies(shown: Shown[], totals: Totals): Family[] {
  const now = performance.now();
  const deep = shown.filter(({ depth }) => depth);
  const named = shown.filter(({ row }) => row.name !== null);
  const gauge = (name: string, help: string, value: (of: Shown) => number | null | undefined, of = deep) =>
    family(
      'gauge',
      `dibs_queue_${name}`,
      help,
      of.map((one) => [value(one), one.labels]),
    );
  return [
    family(
      'gauge',
      'dibs_queue_jobs',
      `Jobs in the queue, by state. ${MAX_COUNTED}`,
      deep.flatMap(({ depth, labels }) =>
        JOB_STATES.map((state) => [depth?.counts[state], `${labels},state="${state}"`] as const),
      ),
    ),
    gauge(
      'oldest_ready_age_seconds',
      `For how long the ready job that has waited longest has been ready. ${MAX_COUNTED}`,
      ({ wait }) => wait?.seconds ?? 0,
    ),
    gauge(
      'alert_after_seconds',
      `The alert_after_seconds of the queue: its oldest ready job should not wait for longer. ${MAX}`,
      ({ wait }) => wait?.alertAfterSeconds,
    ),
    gauge(
      'counted_age_seconds',
      'How old dibs_queue_jobs and dibs_queue_oldest_ready_age_seconds are. Take the min over replicas.',
      ({ depth }) => (now - (depth as Depth).at) / 1000,
    ),
    gauge(
      'drain_seconds',
      'Seconds until the queue is empty at the rate of the last minute. No value while it does not shrink, or is paused. ' +
        'Take the min over replicas.',
      ({ row, depth }) => depth && drainSeconds(depth, totals.shrinking(row.queue_id), row.paused ?? false),
    ),
    gauge('paused', `1 while the queue is paused. ${MAX}`, ({ row }) => Number(row.paused), named),
    gauge(
      'max_ready_jobs',
      `The max_ready of the queue, if it has one. ${MAX}`,
      ({ row }) => row.max_ready,
      named,
    ),
    gauge(
      'max_leased_jobs',
      `The max_leased of the queue, if it has one. ${MAX}`,
      ({ row }) => row.max_leased,
      named,
    ),
  ];
}

function* collected(parts: (() => Family[])[]): Generator<void, Family[]> {
  const families: Family[] = [];
  yield* eachOf(parts, (part) => families.push(...part()));
  return families;
}

/** The verb that tells all metrics that the engine knows. It asks the database for nothing: duties do. */
export function createMetrics(context: {
  tally: Tally;
  totals: Totals;
  depths: Depths;
  replica: ReplicaParts;
}) {
  const { tally, totals, depths, replica } = context;

  function shownTo(mayUse: MayUse | undefined): Shown[] {
    return totals.rows().flatMap((row): Shown[] => {
      const { queue_id: id, name } = row;
      if (id === GONE)
        return mayUse
          ? []
          : [{ row, labels: labelled({ queue: GONE_QUEUES }), depth: undefined, wait: undefined }];
      if (id === EVERYTHING_ELSE) {
        const [depth, wait] = [depths.sumOfOthers(), depths.waitOfOthers()];
        return mayUse ? [] : [{ row, labels: labelled({ queue: OTHER }), depth, wait }];
      }
      if (name === null || mayUse?.(name) === false) return [];
      const depth = depths.of(id);
      const wait = depth && {
        seconds: depth.oldestReadySeconds ?? 0,
        alertAfterSeconds: row.alert_after_seconds as number,
      };
      return [{ row, labels: labelled({ queue: name }), depth, wait }];
    });
  }

  return async ({ mayUse }: { mayUse?: MayUse }): Promise<MetricsAnswer> => {
    await depths.watch();
    const shown = shownTo(mayUse);
    const times = shown.flatMap(({ row, labels }) => {
      const of = row.queue_id === EVERYTHING_ELSE ? tally.rest : tally.own.get(row.queue_id);
      return of ? [{ of, labels }] : [];
    });
    const parts = [
      ...EVENTS.map((event) => () => [eventFamily(event, shown)]),
      () => depthFamilies(shown, totals),
      () => [waitFamily(times)],
      () => [workFamily(times)],
      () => (mayUse ? [] : processFamilies(replica)),
    ];
    return { families: await inSlices(collected(parts)), isWhole: mayUse === undefined };
  };
}
