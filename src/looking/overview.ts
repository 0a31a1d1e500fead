import type { Depth, Found, QueueFacts } from '../counting/depthBook.ts';
import { type Depths, drainSeconds } from '../counting/depths.ts';
import { JOB_STATES } from '../job.ts';
import { createSharedLooks } from '../looks.ts';
import { EVERYTHING_ELSE, type TotalRow } from '../metrics/totalRow.ts';
import type { Totals } from '../metrics/totals.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import {
  EVENTS,
  type Overview,
  type OverviewRequest,
  type PerSecond,
  type QueueOverview,
  TROUBLES,
  type Trouble,
} from '../verbs/counting.ts';

/*
 * All queues at a glance, the ones with trouble first. It comes from what the duties of the metrics have counted, so it costs the
 * same with any number of jobs and queues. Of the database it only asks whether it answers: old numbers would look like a calm
 * service.
 */

const answers = planned('looking/database_answers', row<{ answers: boolean }>());

/** The trouble `nobody_claims`: a ready job has waited for so long, and nothing was claimed meanwhile. */
const UNCLAIMED_SECONDS = 60;
/** The trouble `failing`: at least half of the leases end in a failure, and at least 3 a minute. */
const FAILING_SHARE = 0.5;
const FAILING_PER_SECOND = 0.05;

/** Whether a caller may see a queue. */
type MayUse = (queue: string) => boolean;

interface Looked {
  name: string;
  paused: boolean;
  max_leased: number | null;
  max_ready: number | null;
  alert_after_seconds: number;
  depth: Depth | undefined;
  rates: PerSecond | undefined;
  /** By how many jobs a second it shrinks. */
  shrinking?: number | undefined;
}

export function troublesOf({
  paused,
  max_leased,
  max_ready,
  alert_after_seconds,
  depth,
  rates,
}: Looked): Trouble[] {
  const counts = depth?.counts;
  const oldest = depth?.oldestReadySeconds ?? 0;
  const failures = rates ? rates.nacked + rates.rescued : 0;
  const is: Record<Trouble, boolean> = {
    dead_growing: (rates?.dead ?? 0) > 0,
    failing:
      rates !== undefined &&
      failures >= FAILING_PER_SECOND &&
      failures > FAILING_SHARE * (failures + rates.acked),
    nobody_claims: !paused && rates?.claimed === 0 && oldest > UNCLAIMED_SECONDS && counts?.leased === 0,
    oldest_too_old: !paused && oldest > alert_after_seconds,
    full: counts !== undefined && max_ready !== null && counts.ready + counts.blocked >= max_ready,
    max_leased_reached: counts !== undefined && max_leased !== null && counts.leased >= max_leased,
    paused,
  };
  return TROUBLES.filter((trouble) => is[trouble]);
}

const rank = ({ troubles: [worst] }: QueueOverview) =>
  worst === undefined ? TROUBLES.length : TROUBLES.indexOf(worst);
const busyness = ({ per_second, counts }: QueueOverview) =>
  (per_second ? per_second.enqueued + per_second.claimed : 0) * 1000 + (counts?.ready ?? 0);

export const worstFirst = (a: QueueOverview, b: QueueOverview) =>
  rank(a) - rank(b) || busyness(b) - busyness(a) || (a.name < b.name ? -1 : 1);

function toOverview(looked: Looked, now: number): QueueOverview {
  const { name, paused, depth, rates, shrinking } = looked;
  return {
    name,
    paused,
    troubles: troublesOf(looked),
    ...(depth ? { counts: depth.counts } : {}),
    counted_age_seconds: depth ? (now - depth.at) / 1000 : null,
    oldest_ready_age_seconds: depth?.oldestReadySeconds ?? null,
    ...(rates ? { per_second: rates } : {}),
    drain_seconds: (depth && drainSeconds(depth, shrinking, paused)) ?? null,
  };
}

const zeros = <K extends string>(keys: readonly K[]) =>
  Object.fromEntries(keys.map((key) => [key, 0])) as Record<K, number>;

export function add<K extends string>(sum: Record<K, number>, more: Record<K, number> | undefined): void {
  if (more) for (const key of Object.keys(sum) as K[]) sum[key] += more[key];
}

export function createOverview({ db, totals, depths }: { db: Db; totals: Totals; depths: Depths }) {
  const ofRow = (row: TotalRow & QueueFacts): Looked => ({
    name: row.name,
    paused: row.paused,
    max_leased: row.max_leased,
    max_ready: row.max_ready,
    alert_after_seconds: row.alert_after_seconds,
    depth: depths.of(row.queue_id),
    rates: totals.perSecond(row.queue_id),
    shrinking: totals.shrinking(row.queue_id),
  });
  const ofFound = (found: Found): Looked => ({ ...found, rates: undefined });

  const share = createSharedLooks();

  /** All queues that a caller may see. */
  async function whole(mayUse: MayUse | undefined): Promise<Overview> {
    await db.query(answers);
    void depths.watch();
    const isShown = ({ name }: { name: string }) => mayUse?.(name) !== false;
    const named = totals.rows().filter((row): row is TotalRow & QueueFacts => row.name !== null);
    const found = depths.others();
    const now = performance.now();
    const looked = [...named.filter(isShown).map(ofRow), ...(found ?? []).filter(isShown).map(ofFound)];
    const queues = looked.map((one) => toOverview(one, now));
    const counts = zeros(JOB_STATES);
    const per_second = zeros(EVENTS);
    for (const queue of queues) {
      add(counts, queue.counts);
      add(per_second, queue.per_second);
    }
    const running = looked.filter(({ paused }) => !paused);
    let shrinking = running.reduce((sum, one) => sum + (one.shrinking ?? 0), 0);
    if (!mayUse) {
      add(per_second, totals.perSecond(EVERYTHING_ELSE));
      shrinking += totals.shrinking(EVERYTHING_ELSE) ?? 0;
    }
    const ages = queues.flatMap(({ oldest_ready_age_seconds: age }) => age ?? []);
    const oldest = ages.reduce((most, age) => Math.max(most, age), 0);
    const toDrain = { counts: zeros(JOB_STATES) };
    for (const { depth } of running) add(toDrain.counts, depth?.counts);
    return {
      complete: found !== undefined && queues.every(({ counts }) => counts !== undefined),
      total: queues.length,
      troubled: queues.filter(({ troubles }) => troubles.length > 0).length,
      counts,
      per_second,
      oldest_ready_age_seconds: ages.length > 0 ? oldest : null,
      // Rates are fractions: their sum may be a tiny number in place of 0.
      drain_seconds: drainSeconds(toDrain, shrinking > 1e-6 ? shrinking : 0, false) ?? null,
      queues: queues.sort(worstFirst),
    };
  }

  return async ({ limit, queue, mayUse, visible }: OverviewRequest): Promise<Overview> => {
    const { queues, ...sums } = await share(JSON.stringify(visible), () => whole(mayUse));
    const shown = queue === undefined ? queues : queues.filter(({ name }) => name === queue);
    return { ...sums, queues: shown.slice(0, limit) };
  };
}
