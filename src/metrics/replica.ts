import { MOST_QUEUE_NUMBERS } from '../ids.ts';
import type { Ledger } from '../ledger.ts';
import type { Memory } from '../memory.ts';
import type { Connections } from '../postgres/pool.ts';
import type { Family } from '../verbs/counting.ts';
import { version } from '../version.ts';
import type { DutyLog } from './dutyLog.ts';
import { family, histograms, labelled } from './family.ts';
import type { Tally } from './tally.ts';
import type { Totals } from './totals.ts';

/** What a replica tells of itself. */
export interface ReplicaParts {
  tally: Tally;
  totals: Totals;
  memory: Memory;
  ledger: Ledger;
  duties: DutyLog;
  connections(): Connections;
  isUp(): boolean;
  openClaims(): number;
  waitingForJobs(): number;
  loopLag(): number;
  heldSeconds(): number;
  queueNumbersUsed(): number | undefined;
  unfinishedBatches(): { open: number; running: number; oldestSeconds: number };
  /** Set where there are several databases. */
  relayed?: (() => { jobs: number; oldestSeconds: number }) | undefined;
}

const EACH = 'Of each replica.';

function dutyFamilies({ duties }: ReplicaParts): Family[] {
  const all = [...duties.all()];
  return [
    family(
      'gauge',
      'dibs_duty_last_success_timestamp_seconds',
      `When the duty last ran without a failure, as a Unix time. ${EACH}`,
      all.map(([duty, { lastSuccess }]) => [lastSuccess, labelled({ duty })]),
    ),
    family(
      'counter',
      'dibs_duty_seconds_total',
      'How long the duty has run. Sum over replicas.',
      all.map(([duty, { seconds }]) => [seconds, labelled({ duty })]),
    ),
    family(
      'gauge',
      'dibs_duty_last_run_seconds',
      `How long the last run of the duty took. ${EACH}`,
      all.map(([duty, { lastSeconds }]) => [lastSeconds, labelled({ duty })]),
    ),
    family(
      'counter',
      'dibs_duty_failures_total',
      'Runs of the duty that failed. Sum over replicas.',
      all.map(([duty, { failures }]) => [failures, labelled({ duty })]),
    ),
  ];
}

function databaseFamilies({
  connections,
  isUp,
  totals,
  heldSeconds,
  queueNumbersUsed,
}: ReplicaParts): Family[] {
  const { busy, idle, waiting, most } = connections();
  return [
    family('gauge', 'dibs_database_up', `1 while the database takes writes of this replica. ${EACH}`, [
      [Number(isUp())],
    ]),
    family('gauge', 'dibs_database_connections', `Connections of the pool. ${EACH}`, [
      [busy, 'state="busy"'],
      [idle, 'state="idle"'],
    ]),
    family('gauge', 'dibs_database_connections_max', `DATABASE_POOL_SIZE. ${EACH}`, [[most]]),
    family('gauge', 'dibs_database_waiting_calls', `Calls that wait for a connection. ${EACH}`, [[waiting]]),
    family(
      'gauge',
      'dibs_database_horizon_held_seconds',
      'For how long the oldest transaction has kept dead rows from being cleared. Take the max over replicas.',
      [[heldSeconds()]],
    ),
    family(
      'gauge',
      'dibs_queue_numbers_used',
      'Numbers of queues that cannot be given to a new queue now. Take the max over replicas.',
      [[queueNumbersUsed()]],
    ),
    family(
      'gauge',
      'dibs_queue_numbers_max',
      'How many numbers of queues there are. Take the max over replicas.',
      [[MOST_QUEUE_NUMBERS]],
    ),
    family('gauge', 'dibs_totals_age_seconds', `How old the totals are that this replica tells. ${EACH}`, [
      [totals.ageSeconds()],
    ]),
  ];
}

function relayFamilies({ relayed }: ReplicaParts): Family[] {
  if (!relayed) return [];
  const { jobs, oldestSeconds } = relayed();
  return [
    family(
      'gauge',
      'dibs_relay_jobs',
      'Jobs in the database that have not arrived yet in others. Take the max over replicas.',
      [[jobs]],
    ),
    family(
      'gauge',
      'dibs_relay_oldest_seconds',
      'For how long the oldest of them has waited. Take the max over replicas.',
      [[oldestSeconds]],
    ),
  ];
}

function batchFamilies({ unfinishedBatches }: ReplicaParts): Family[] {
  const { open, running, oldestSeconds } = unfinishedBatches();
  return [
    family('gauge', 'dibs_batches_unfinished', 'Batches that have not ended. Take the max over replicas.', [
      [open, labelled({ state: 'open' })],
      [running, labelled({ state: 'running' })],
    ]),
    family(
      'gauge',
      'dibs_batches_oldest_running_seconds',
      'For how long the oldest batch that runs has been closed. Take the max over replicas.',
      [[oldestSeconds]],
    ),
  ];
}

function ofProcess(parts: ReplicaParts): Family[] {
  const { memory, ledger, openClaims, loopLag } = parts;
  const cpu = process.cpuUsage();
  const families = [
    family('gauge', 'dibs_claims_waiting', `Claims that are not answered yet. ${EACH}`, [[openClaims()]]),
    family(
      'gauge',
      'dibs_event_loop_lag_seconds',
      `The longest lag of the event loop in half a minute. ${EACH}`,
      [[loopLag()]],
    ),
    family(
      'gauge',
      'dibs_held',
      `What requests hold, by kind. All are 0 while no request is under way. ${EACH}`,
      Object.entries(ledger.held()).map(([kind, held]) => [held, labelled({ kind })]),
    ),
    family(
      'gauge',
      'dibs_memory_held_bytes',
      `What requests and answers hold of the memory budget, by its shares. ${EACH}`,
      Object.entries(memory.shares()).map(([share, { used }]) => [used, labelled({ share })]),
    ),
    family(
      'gauge',
      'dibs_memory_budget_bytes',
      `The shares of MAX_MEMORY_BYTES. ${EACH}`,
      Object.entries(memory.shares()).map(([share, { most }]) => [most, labelled({ share })]),
    ),
    family('gauge', 'dibs_build_info', `Always 1. The version is a label. ${EACH}`, [
      [1, labelled({ version, node: process.version })],
    ]),
    family('counter', 'process_cpu_seconds_total', `Time on the processors, of user and system. ${EACH}`, [
      [(cpu.user + cpu.system) / 1e6],
    ]),
    family('gauge', 'process_resident_memory_bytes', `Memory of the process. ${EACH}`, [
      [process.memoryUsage.rss()],
    ]),
    family('gauge', 'process_start_time_seconds', `When the process started, as a Unix time. ${EACH}`, [
      [Math.round(performance.timeOrigin / 1000)],
    ]),
  ];
  return families.map((of) => ({ ...of, isOfProcess: true }));
}

/** What belongs to this replica, and to no queue. */
export function processFamilies(parts: ReplicaParts): Family[] {
  const { tally, waitingForJobs } = parts;
  return [
    histograms('dibs_round_trip_rows', 'Jobs in a round trip to the database. Sum over replicas.', [
      [tally.tripRows],
    ]),
    family('gauge', 'dibs_job_waits', `Requests that wait for the end of a job. ${EACH}`, [
      [waitingForJobs()],
    ]),
    ...dutyFamilies(parts),
    ...databaseFamilies(parts),
    ...batchFamilies(parts),
    ...relayFamilies(parts),
    ...ofProcess(parts),
  ];
}
