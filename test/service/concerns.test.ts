import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { DEFAULT_CONFIG, NOT_SET } from '../../routes/schemas/queue.ts';
import { logCalls, noteServedClaims, withConcerns } from '../../src/concerns.ts';
import { type RunningEngine, startEngine } from '../../src/engine.ts';
import { jobNotFound, unavailable } from '../../src/errors.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from '../support/database.ts';
import { UNKNOWN_ID as id, UNKNOWN_TOKEN as lease_token } from '../support/moves.ts';

interface Line {
  verb: string;
  outcome: string;
  ms: number;
}

describe('the verbs of an engine', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let db: Database;
  let engine: RunningEngine;
  const lines: Line[] = [];
  beforeAll(async () => {
    database = await createDatabase();
    db = openDatabase(database.url, 4);
    engine = await startEngine({
      db,
      listenUrl: database.url,
      log: () => undefined,
      logCall: (fields) => lines.push(fields as Line),
    });
  });
  afterAll(async () => {
    await engine.stop();
    await db.close();
    await database.drop();
  });

  const queue = 'q';
  const at = () => '';
  const job = { queue };
  /** settleAndClaim calls two verbs, and each is wrapped. */
  const NO_VERBS = [
    'settleAndClaim',
    'as',
    'keys',
    'admit',
    'readiness',
    'inMetricsSlot',
    'memory',
    'ledger',
    'waitingForJobs',
    'stopWaiting',
    'stop',
  ] as const;
  /** A call of each verb. A verb that is missing here does not compile. */
  const calls: {
    [V in Exclude<keyof RunningEngine, (typeof NO_VERBS)[number]>]: () => unknown;
  } = {
    enqueue: () => engine.enqueue({ jobs: [job], at }),
    enqueueOnce: () =>
      engine.enqueueOnce({
        request: { route: 'POST /jobs', key: 'k', fingerprint: '0'.repeat(64) },
        jobs: [job],
        at,
      }),
    waitForEnqueued: () => engine.waitForEnqueued({ id, wait_seconds: 0 }),
    claim: () => engine.claim({ queues: [queue] }),
    ack: () => engine.ack({ id, lease_token, at }),
    nack: () => engine.nack({ id, lease_token, at }),
    release: () => engine.release({ id, lease_token }),
    extend: () => engine.extend({ id, lease_token, lease_seconds: 1 }),
    settle: () => engine.settle({ acks: [{ id, lease_token }] }),
    getJob: () => engine.getJob({ id }),
    waitForJob: () => engine.waitForJob({ id, wait_seconds: 0 }),
    listJobs: () => engine.listJobs({ payload: false, order: 'newest', limit: 1, max_bytes: 1 }),
    getJobHistory: () => engine.getJobHistory({ id }),
    explainJob: () => engine.explainJob({ id }),
    cancelJob: () => engine.cancelJob({ id }),
    retryJob: () => engine.retryJob({ id }),
    changeJob: () => engine.changeJob({ id, change: { priority: 1 } }),
    getQueue: () => engine.getQueue({ queue }),
    listQueues: () => engine.listQueues({ limit: 1 }),
    getMetrics: () => engine.getMetrics({}),
    getOverview: () => engine.getOverview({ limit: 1 }),
    getSamples: () => engine.getSamples({ minutes: 60 }),
    explainQueue: () => engine.explainQueue({ queue }),
    getQueueErrors: () => engine.getQueueErrors({ queue }),
    listWorkers: () => engine.listWorkers({}),
    configureQueue: () => engine.configureQueue({ queue, config: { ...DEFAULT_CONFIG, ...NOT_SET } }),
    pauseGroup: () => engine.pauseGroup({ queue, group: 'g' }),
    resumeGroup: () => engine.resumeGroup({ queue, group: 'g' }),
    pauseQueue: () => engine.pauseQueue({ queue }),
    resumeQueue: () => engine.resumeQueue({ queue }),
    deleteQueue: () => engine.deleteQueue({ queue: 'nowhere', force: false }),
    purgeQueue: () => engine.purgeQueue({ queue, states: ['dead'] }),
    redriveQueue: () => engine.redriveQueue({ queue }),
    startOperation: () =>
      engine.startOperation({ verb: 'delete', queue, filter: { states: ['dead'] }, dry_run: true }),
    getOperation: () => engine.getOperation({ id }),
    listOperations: () => engine.listOperations({ limit: 1 }),
    stopOperation: () => engine.stopOperation({ id }),
    createBatch: () => engine.createBatch({ queue, jobs: [], closed: true }),
    getBatch: () => engine.getBatch({ id }),
    waitForBatch: () => engine.waitForBatch({ id, wait_seconds: 0 }),
    listBatches: () => engine.listBatches({ limit: 1 }),
    explainBatch: () => engine.explainBatch({ id }),
    closeBatch: () => engine.closeBatch({ id }),
    cancelBatch: () => engine.cancelBatch({ id }),
    holdSession: () => engine.holdSession({ session: id }),
    getSchedule: () => engine.getSchedule({ name: 's' }),
    listSchedules: () => engine.listSchedules({ limit: 1, max_bytes: 1 }),
    putSchedule: () =>
      engine.putSchedule({ name: 'bad', spec: { cron: 'x', timezone: 'UTC', paused: false, job } }),
    deleteSchedule: () => engine.deleteSchedule({ name: 's' }),
    triggerSchedule: () => engine.triggerSchedule({ name: 's' }),
    listDatabases: () => engine.listDatabases({}),
    configureDatabase: () => engine.configureDatabase({ name: 'home', accepts_queues: true }),
    relocateQueue: () => engine.relocateQueue({ queue, to: 'home' }),
    listKeys: () => engine.listKeys({ limit: 1 }),
    createKey: () => engine.createKey({ name: 'k', scopes: ['read'] }),
    revokeKey: () => engine.revokeKey({ id }),
    rotateKey: () => engine.rotateKey({ id }),
    listAudit: () => engine.listAudit({ limit: 1 }),
  };
  const REFUSED: Record<string, string> = {
    ...Object.fromEntries(
      [
        'waitForEnqueued',
        'ack',
        'nack',
        'release',
        'extend',
        'getJob',
        'waitForJob',
        'explainJob',
        'getJobHistory',
        'cancelJob',
        'retryJob',
        'changeJob',
      ].map((verb) => [verb, 'job_not_found']),
    ),
    ...Object.fromEntries(
      ['getSchedule', 'deleteSchedule', 'triggerSchedule'].map((verb) => [verb, 'schedule_not_found']),
    ),
    ...Object.fromEntries(
      ['getBatch', 'waitForBatch', 'explainBatch', 'closeBatch', 'cancelBatch'].map((verb) => [
        verb,
        'batch_not_found',
      ]),
    ),
    holdSession: 'session_not_found',
    deleteQueue: 'queue_not_found',
    getOperation: 'operation_not_found',
    stopOperation: 'operation_not_found',
    revokeKey: 'key_not_found',
    rotateKey: 'key_not_found',
    putSchedule: 'invalid_request',
    relocateQueue: 'queue_elsewhere',
  };

  beforeEach(async () => {
    await engine.enqueue({ jobs: [job], at });
    lines.length = 0;
  });

  test.each(Object.entries(calls))('%s is wrapped by a concern once', async (verb, call) => {
    await Promise.resolve(call()).catch(() => undefined);
    expect(lines).toEqual([{ verb, outcome: REFUSED[verb] ?? 'done', ms: expect.any(Number) }]);
  });

  test('are all that an engine has, besides stopping it', () => {
    expect(Object.keys(engine).sort()).toEqual([...Object.keys(calls), ...NO_VERBS].sort());
  });
});

describe('withConcerns', () => {
  test('puts each concern around each verb once, the first one outermost', async () => {
    const seen: string[] = [];
    const concern =
      (name: string) => (verb: string) => async (run: () => Promise<unknown>, request: unknown) => {
        seen.push(`${name} before ${verb} ${request}`);
        const result = await run();
        seen.push(`${name} after ${verb}`);
        return result;
      };
    const verbs = withConcerns({ one: async (n: number) => n + 1, two: async (n: number) => n * 2 }, [
      concern('outer'),
      concern('inner'),
    ]);
    expect(await verbs.one(5)).toBe(6);
    expect(await verbs.two(5)).toBe(10);
    expect(seen).toEqual(
      ['one', 'two'].flatMap((verb) => [
        `outer before ${verb} 5`,
        `inner before ${verb} 5`,
        `inner after ${verb}`,
        `outer after ${verb}`,
      ]),
    );
  });

  test('leaves a verb as it is where a concern returns undefined', () => {
    const verbs = { claim: async () => [], ack: async () => undefined };
    const wrapped = withConcerns(verbs, [
      (verb) => (verb === 'claim' ? (run) => run() : undefined),
      () => undefined,
    ]);
    expect(wrapped.ack).toBe(verbs.ack);
    expect(wrapped.claim).not.toBe(verbs.claim);
  });

  test('asks a concern about each verb when it wraps, and not at each call', async () => {
    const asked: string[] = [];
    const { claim } = withConcerns({ claim: async (_: object) => [], ack: async (_: object) => undefined }, [
      (verb) => {
        asked.push(verb);
        return (run) => run();
      },
    ]);
    for (let i = 0; i < 3; i++) await claim({});
    expect(asked).toEqual(['claim', 'ack']);
  });
});

describe('logCalls', () => {
  const logged = async (verb: () => Promise<unknown>) => {
    const lines: [Line, string][] = [];
    const { look } = withConcerns({ look: verb }, [
      logCalls((fields, message) => lines.push([fields as Line, message])),
    ]);
    const outcome = await look().catch((error) => error);
    expect(lines).toHaveLength(1);
    const [[fields, message]] = lines as [[Line, string]];
    expect(message).toBe('called');
    return { outcome, fields };
  };

  test('writes `done` for a call that succeeds, and passes its result on', async () => {
    const { outcome, fields } = await logged(async () => 'found');
    expect(outcome).toBe('found');
    expect(fields).toEqual({ verb: 'look', outcome: 'done', ms: expect.any(Number) });
  });

  test.each([jobNotFound(id), unavailable()])('writes the code of a refusal: $code', async (refusal) => {
    const { outcome, fields } = await logged(() => Promise.reject(refusal));
    expect(outcome).toBe(refusal);
    expect(fields).toEqual({ verb: 'look', outcome: refusal.code, ms: expect.any(Number) });
  });

  test('writes `failed` for an error without a code', async () => {
    const error = new Error('a bug');
    const { outcome, fields } = await logged(() => Promise.reject(error));
    expect(outcome).toBe(error);
    expect(fields).toMatchObject({ outcome: 'failed' });
  });

  test('writes how many milliseconds the call took', async () => {
    const started = performance.now();
    const { fields } = await logged(() => sleep(50));
    expect(fields.ms).toBeGreaterThanOrEqual(49);
    expect(fields.ms).toBeLessThanOrEqual(performance.now() - started + 0.1);
    expect(fields.ms).toBe(Number(fields.ms.toFixed(1)));
  });
});

describe('a claim counts as served', () => {
  /** How often a verb that ends like this is noted as a served claim. */
  async function servedBy(verb: string, run: () => Promise<unknown>): Promise<number> {
    let served = 0;
    const verbs = withConcerns({ [verb]: run } as Record<string, (request: object) => Promise<unknown>>, [
      noteServedClaims(() => served++),
    ]);
    await verbs[verb]?.({}).catch(() => undefined);
    return served;
  }

  test('when it is answered with jobs', async () => {
    expect(await servedBy('claim', async () => [{ id: 'a' }, { id: 'b' }])).toBe(1);
  });

  test('not when it is answered empty, or refused', async () => {
    expect(await servedBy('claim', async () => [])).toBe(0);
    expect(await servedBy('claim', () => Promise.reject(unavailable()))).toBe(0);
  });

  test('and no other verb does, whatever it answers', async () => {
    for (const verb of ['listJobs', 'enqueue', 'settle'])
      expect(await servedBy(verb, async () => [{ id: 'a' }])).toBe(0);
  });

  test('only after it is answered', async () => {
    const seen: string[] = [];
    const { claim } = withConcerns(
      {
        claim: async (_: object) => {
          seen.push('answered');
          return [{ id: 'a' }];
        },
      },
      [noteServedClaims(() => seen.push('served'))],
    );
    expect(await claim({})).toEqual([{ id: 'a' }]);
    expect(seen).toEqual(['answered', 'served']);
  });
});
