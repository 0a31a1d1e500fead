import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import {
  asRole,
  createDatabase,
  createOtherDatabase,
  onServer,
  SERVING_ROLE,
  urlOf,
} from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { shortRules } from '../support/shortRules.ts';
import { ROOT, textOf } from '../support/sources.ts';
import { until } from '../support/until.ts';

const load = (path: string) => import(new URL(`../../${path}`, import.meta.url).href);
const { hasPrometheus, startPrometheus } = await load('examples/support/prometheus.mjs');
const { faultsAt, repeating } = await load('scripts/board/faults.mjs');

const RULES = textOf('deploy/prometheus/rules.yaml');
const MIB = 2 ** 20;

type Database = Awaited<ReturnType<typeof createDatabase>>;

interface Alert {
  state: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** The build of this Dibs with another version, in a folder of its own. */
function otherVersion(): string {
  const folder = mkdtempSync(join(tmpdir(), 'dibs-version-'));
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  const about = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...about, version: '0.0.1' }));
  return folder;
}

/** Queues with jobs that wait, each for a reason that is fine. Nothing may fire for them. */
async function whatIsFine(url: string): Promise<void> {
  const { fill } = faultsAt(url);
  const lease = (queue: string) => http(url, 'POST', '/jobs/claim', { queues: [queue], lease_seconds: 600 });
  await http(url, 'PUT', '/queues/fine.limited', { max_leased: 1, alert_after_seconds: 3600 });
  await http(url, 'PUT', '/queues/fine.rated', { rate_limit: { jobs: 1, per_seconds: 3600 } });
  await http(url, 'PUT', '/queues/fine.nightly', { alert_after_seconds: 90_000 });
  await fill('fine.nightly', 3);
  await fill('fine.new', 3);
  await fill('fine.later', 3, { delay_seconds: 3600 });
  await fill('fine.group', 3, { group: 'g' });
  for (const queue of ['fine.limited', 'fine.rated', 'fine.long']) await fill(queue, 3);
  for (const queue of ['fine.limited', 'fine.rated', 'fine.long', 'fine.group']) await lease(queue);
}

/*
 * A running Prometheus scrapes seven replicas, with the rules of deploy/ at shorter times (shortRules.ts). Each fault is
 * caused, all at once, each in a queue or a replica of its own. Then the alerts are read from Prometheus.
 */
describe.skipIf(!hasPrometheus)('each alert fires for its fault in a running Prometheus', () => {
  const undo: (() => unknown)[] = [];
  /** What fired so far, by name and the labels that say where. */
  const fired = new Map<string, Alert>();
  let prometheus: Awaited<ReturnType<typeof startPrometheus>>;

  const names = [...RULES.matchAll(/- alert: (\w+)/g)].map((match) => match[1] as string);

  async function look(): Promise<void> {
    for (const alert of (await prometheus.alerts()) as Alert[]) {
      const { alertname, queue, instance } = alert.labels;
      if (alert.state === 'firing') fired.set([alertname, queue ?? instance].join(' '), alert);
    }
  }

  async function fires(alert: string, where: string | undefined): Promise<Alert> {
    const key = [alert, where].join(' ');
    return until(
      async () => {
        await look();
        return fired.get(key);
      },
      { what: `${key}, beside ${[...fired.keys()].join(', ')},`, everyMs: 200 },
    );
  }

  const targetOf = ({ url }: Replica) => new URL(url).host;
  let well: Replica;
  let busy: Replica;
  let away: Replica;
  let broken: Replica;
  let dying: Replica;
  let unwritten: Replica;
  /** It has two databases, and one of them is away. */
  let several: Replica;

  beforeAll(async () => {
    const databases = await Promise.all([...[1, 2, 3, 4, 5, 6].map(createDatabase), createOtherDatabase()]);
    const [shared, crowded, lost, damaged, demoted, first, second] = databases as [
      Database,
      Database,
      Database,
      Database,
      Database,
      Database,
      Database,
    ];
    undo.push(...databases.map((database) => () => database.drop()));
    await onServer(damaged.url, `select setval('dibs.queue_ids', 15000000)`);
    const open = await openTransaction(shared.url, 'begin isolation level repeatable read');
    await open.query('select pg_current_xact_id()');
    undo.push(() => open.end('rollback'));
    const folder = otherVersion();
    undo.push(() => rmSync(folder, { recursive: true }));

    const start = async (...args: Parameters<typeof startReplica>) => {
      const replica = await startReplica(...args);
      undo.push(() => replica.end('SIGKILL'));
      return replica;
    };
    const env = { DATABASE_URL: shared.url };
    [well, busy, away, broken, dying, unwritten, several] = (await Promise.all([
      start(env),
      start(
        {
          DATABASE_URL: crowded.url,
          DATABASE_POOL_SIZE: '2',
          MAX_MEMORY_BYTES: `${96 * MIB}`,
          REQUEST_TIMEOUT_SECONDS: '600',
        },
        folder,
      ),
      start({ DATABASE_URL: lost.url }),
      start({ DATABASE_URL: asRole(damaged.url, SERVING_ROLE) }),
      start(env),
      start({ DATABASE_URL: demoted.url }),
      start({ DATABASE_URL: first.url, DATABASE_URL_SECOND: second.url }),
    ])) as [Replica, Replica, Replica, Replica, Replica, Replica, Replica];
    const targets = [well, busy, away, broken, dying, unwritten, several].map(targetOf);
    prometheus = await startPrometheus({ targets, rules: shortRules(RULES) });
    undo.push(() => prometheus.stop());

    const { url } = well;
    const faults = faultsAt(url);
    await http(url, 'PUT', '/queues/full', { max_ready: 5 });
    for (const queue of ['abandoned', 'hanging', 'slow', 'long', 'failing', 'poisoned'])
      await http(url, 'PUT', `/queues/${queue}`, { alert_after_seconds: 3 });
    await whatIsFine(url);
    await http(url, 'POST', '/queues/paused/pause');
    await faults.fill('full', 5);
    await faults.fill('paused', 3);
    await faults.fill('abandoned', 3);
    // Its workers are busy with a long job.
    await faults.fill('long', 3);
    await http(url, 'POST', '/jobs/claim', { queues: ['long'], lease_seconds: 600 });
    const loops = await Promise.all([
      faults.slowWorker('slow'),
      faults.hangingWorkers('hanging'),
      faults.failingWorkers('failing', { max_attempts: 100 }),
      faults.failingWorkers('poisoned', { max_attempts: 1 }),
    ]);

    // A bug: a column that Dibs relies on is gone. A duty fails by it, and so does a call.
    await onServer(damaged.url, 'alter table dibs.schedules rename name to name_away');
    loops.push(repeating(500, () => http(broken.url, 'GET', '/schedules')));

    const nameOf = (databaseUrl: string) => new URL(databaseUrl).pathname.slice(1);
    const serverUrl = urlOf(lost.url, 'postgres');
    for (const [queue, database] of [
      ['there', 'home'],
      ['gone', 'second'],
    ])
      await http(several.url, 'PUT', `/queues/${queue}`, { database });
    for (const gone of [lost, second]) {
      await onServer(serverUrl, `alter database ${nameOf(gone.url)} with allow_connections false`);
      await onServer(serverUrl, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
        nameOf(gone.url),
      ]);
    }
    // Its job waits for the database that is away.
    await http(several.url, 'POST', '/jobs/batch', { jobs: [{ queue: 'there' }, { queue: 'gone' }] });
    // It answers, and takes no writes.
    await onServer(serverUrl, `alter database ${nameOf(demoted.url)} set default_transaction_read_only = on`);
    await onServer(serverUrl, 'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
      nameOf(demoted.url),
    ]);

    const atBusy = faultsAt(busy.url);
    const half = atBusy.halfBody(13.5 * MIB);
    undo.push(() => half.destroy());
    loops.push(atBusy.largeBatches('large'));
    undo.push(() => Promise.all(loops.map(({ end }) => end())));

    /** Statements wait for a lock, and calls for a connection. After that, the process stands still. */
    async function crowd(): Promise<void> {
      // So many that some wait at each scrape.
      const many = atBusy.manyQueues('many', 60);
      const locked = await openTransaction(crowded.url);
      await locked.query('lock table dibs.jobs in exclusive mode');
      await fires('DibsPoolExhausted', targetOf(busy)).finally(() => locked.end('rollback'));
      await many.end();
      // It measures from its first scrape on.
      process.kill(busy.pid, 'SIGSTOP');
      await sleep(800);
      process.kill(busy.pid, 'SIGCONT');
    }

    /** It starts again and again, at the same address, and then no more. */
    async function restart(): Promise<void> {
      const PORT = new URL(dying.url).port;
      const changes = `changes(process_start_time_seconds{instance="${targetOf(dying)}"}[5m])`;
      const scraped = (times: number) =>
        until(async () => (await prometheus.query(changes))[0]?.value === times, {
          what: `a scrape after ${times} restarts`,
        });
      // Prometheus sees no restart of a process that it never scraped.
      await scraped(0);
      for (let times = 1; times <= 3; times++) {
        await dying.end('SIGKILL');
        dying = await start({ ...env, PORT });
        await scraped(times);
      }
      await fires('DibsRestarts', targetOf(dying));
      await dying.end('SIGKILL');
    }
    await Promise.all([crowd(), restart()]);
  }, 600_000);
  afterAll(async () => {
    for (const step of undo.reverse()) await step();
  });

  test.each([
    ['DibsReplicaDown', () => targetOf(dying)],
    ['DibsRestarts', () => targetOf(dying)],
    ['DibsDatabaseAway', () => targetOf(away)],
    ['DibsDatabaseAway', () => targetOf(unwritten)],
    ['DibsDatabaseAway', () => targetOf(several)],
    ['DibsRelayLate', () => undefined],
    ['DibsBug', () => targetOf(broken)],
    ['DibsDutyFails', () => targetOf(broken)],
    ['DibsPoolExhausted', () => targetOf(busy)],
    ['DibsEventLoopLag', () => targetOf(busy)],
    ['DibsMemoryNearBudget', () => targetOf(busy)],
    ['DibsAnswers503', () => targetOf(busy)],
    ['DibsReplicasDiffer', () => undefined],
    ['DibsHorizonHeld', () => undefined],
    ['DibsQueueNumbersScarce', () => undefined],
    ['DibsDeadJobsGrow', () => 'poisoned'],
    ['DibsWorkersFail', () => 'failing'],
    ['DibsLeasesRunOut', () => 'hanging'],
    ['DibsOldestReadyTooOld', () => 'slow'],
    ['DibsOldestReadyTooOld', () => 'long'],
    ['DibsNobodyClaims', () => 'abandoned'],
    ['DibsQueueFull', () => 'full'],
    ['DibsPausedForLong', () => 'paused'],
  ])('%s', async (alert, where) => {
    const { annotations } = await fires(alert, where());
    const [place] = [where()];
    if (place) expect(annotations.summary).toContain(place);
    expect(annotations.runbook_url).toContain(`/runbook.md#${alert.toLowerCase()}`);
  });

  test('an alert about a queue fires for the queue with that fault, and not for the others', () => {
    const queuesOf = (alert: string) =>
      [...fired.keys()]
        .filter((key) => key.startsWith(`${alert} `))
        .map((key) => key.split(' ')[1])
        .sort();
    expect(queuesOf('DibsQueueFull')).toEqual(['full']);
    expect(queuesOf('DibsPausedForLong')).toEqual(['paused']);
    expect(queuesOf('DibsDeadJobsGrow')).not.toContain('failing');
    expect(queuesOf('DibsLeasesRunOut')).toEqual(['hanging']);
    for (const queue of ['slow', 'long', 'hanging', 'paused'])
      expect(queuesOf('DibsNobodyClaims')).not.toContain(queue);
    expect(queuesOf('DibsOldestReadyTooOld')).not.toContain('paused');
    expect([...fired.keys()].filter((key) => key.includes(' fine.'))).toEqual([]);
  });

  test('DibsAllReplicasDown, when all that Prometheus knows are away', async () => {
    await prometheus.setTargets([targetOf(dying)]);
    await fires('DibsAllReplicasDown', undefined);
  });

  test('DibsAbsent, when Prometheus knows no replica any more', async () => {
    await prometheus.setTargets([]);
    await fires('DibsAbsent', undefined);
  });

  test('no alert is left without a fault', () => {
    const seen = new Set([...fired.keys()].map((key) => key.split(' ')[0]));
    expect(names.filter((name) => !seen.has(name))).toEqual([]);
  });
});
