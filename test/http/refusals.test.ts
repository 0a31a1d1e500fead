import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  databaseClosed,
  queueBusy,
  queueElsewhere,
  type Refusal,
  tooManyOperations,
  tooManySessions,
} from '../../src/errors.ts';
import { MOST_QUEUE_NUMBERS } from '../../src/ids.ts';
import { onServer } from '../support/database.ts';
import { moves, UNKNOWN_ID, UNKNOWN_TOKEN } from '../support/moves.ts';
import { COMMON, DOCUMENTED } from '../support/refusals.ts';
import { type Answer, type Service, startService } from '../support/service.ts';
import { AT_HOME, onAll } from '../support/severalDatabases.ts';

let service: Service;
let at: ReturnType<typeof moves>;
beforeAll(async () => {
  service = await startService({ auth: 'off' });
  at = moves(service);
});
afterAll(() => service.stop());

const call = (...request: Parameters<Service['call']>): Promise<Answer> => service.call(...request);
const sql = (text: string) => onServer(service.databaseUrl, text);

/** A job that is leased, and one that is finished but kept. */
async function leased() {
  const queue = at.newQueue();
  await at.enqueue({ queue });
  return at.claimOne(queue);
}
async function finished(): Promise<string> {
  const queue = at.newQueue();
  await at.configure(queue, { retention_seconds: 60 });
  await at.enqueue({ queue });
  const job = await at.claimOne(queue);
  await at.settle('ack', job);
  return job.id;
}
async function full(): Promise<string> {
  const queue = at.newQueue();
  await at.configure(queue, { max_ready: 1, ...AT_HOME });
  await at.enqueue({ queue });
  return queue;
}

/** A dead job whose unique key another job has. */
async function deadWithoutKey(): Promise<string> {
  const job = { queue: at.newQueue(), unique_key: 'k', max_attempts: 1 };
  await at.enqueue(job);
  const dead = await at.claimOne(job.queue);
  await at.settle('nack', dead, { error: 'no' });
  await at.enqueue(job);
  return dead.id;
}

async function withoutNumbers(request: () => Promise<Answer>): Promise<Answer> {
  const [before] = await onServer<{ last_value: string }>(
    service.databaseUrl,
    'select last_value from dibs.queue_ids',
  );
  await sql(`select setval('dibs.queue_ids', ${MOST_QUEUE_NUMBERS})`);
  try {
    return await request();
  } finally {
    await sql(`select setval('dibs.queue_ids', ${before?.last_value})`);
  }
}

/** As it is answered where there are several databases, or as many of something as there may be. */
async function whereSeveral(
  verb: 'ack' | 'nack' | 'configureQueue' | 'createBatch' | 'enqueue' | 'holdSession' | 'relocateQueue',
  refusal: Refusal,
  request: () => Promise<Answer>,
): Promise<Answer> {
  const { admit } = service.engine;
  service.engine.admit = (...asked) => ({ ...admit(...asked), [verb]: () => Promise.reject(refusal) });
  try {
    return await request();
  } finally {
    service.engine.admit = admit;
  }
}

const relocateTo = (to: string, refusal: Refusal) =>
  whereSeveral('relocateQueue', refusal, () => call('POST', '/queues/q/relocate', { to }));

const enqueueOnce = async (path: string, body: object, other: object): Promise<Answer> => {
  const key = { 'idempotency-key': randomUUID() };
  await at.ok('POST', path, body, key);
  return call('POST', path, other, key);
};
const schedule = async (queue: string): Promise<string> => {
  await at.ok('PUT', `/schedules/${queue}`, { cron: '0 0 1 1 *', job: { queue } });
  return queue;
};
const onLease = (verb: 'ack' | 'nack' | 'release' | 'extend', more = {}) => ({
  job_not_found: () => at.settle(verb, { id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN }, more),
  lease_lost: async () => at.settle(verb, { ...(await leased()), lease_token: UNKNOWN_TOKEN }, more),
});
/** The last attempt of a job fails, so that the follow-ups of a nack are enqueued. */
const withFollowUp = (verb: 'ack' | 'nack') => ({
  too_many_queues: async () => {
    const job = await lastAttempt();
    return withoutNumbers(() => at.settle(verb, job, { enqueue: [{ queue: at.newQueue() }] }));
  },
  queue_full: async () => at.settle(verb, await lastAttempt(), { enqueue: [{ queue: await full() }] }),
});
async function lastAttempt() {
  const queue = at.newQueue();
  await at.configure(queue, AT_HOME);
  await at.enqueue({ queue, max_attempts: 1 });
  return at.claimOne(queue);
}
const unknownJob =
  (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', more = '', body?: object) =>
  () =>
    call(method, `/jobs/${UNKNOWN_ID}${more}`, body);
const unknownQueue =
  (method: 'GET' | 'POST' | 'DELETE', more = '', body?: object) =>
  () =>
    call(method, `/queues/${at.newQueue('none')}${more}`, body);
const DEAD = { verb: 'cancel', filter: { states: ['dead'] } };
const unknown = (method: 'GET' | 'POST' | 'DELETE', path: string) => () => call(method, path);

const newBatch = async (closed = false): Promise<string> => {
  const queue = at.newQueue();
  await at.configure(queue, AT_HOME);
  return (await at.ok('POST', '/batches', { queue, closed })).id;
};
/** At an operation that puts a job into a batch. */
const intoBatch = (request: (batch: string) => Promise<Answer>) => ({
  batch_not_found: () => request(UNKNOWN_ID),
  batch_closed: async () => request(await newBatch(true)),
});
const followUpInBatch = (verb: 'ack' | 'nack') => ({
  ...intoBatch(async (batch) => {
    const job = await lastAttempt();
    return at.settle(verb, job, { enqueue: [{ queue: job.queue, batch }] });
  }),
  queue_elsewhere: () =>
    whereSeveral(`${verb}`, queueElsewhere('q', 'west'), () =>
      at.settle(verb, { id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN }),
    ),
});
const unknownBatch =
  (method: 'GET' | 'POST' | 'DELETE', more = '') =>
  () =>
    call(method, `/batches/${UNKNOWN_ID}${more}`);

/** How to be refused with each code, at each operation. */
const CASES: Record<string, Record<string, () => Promise<Answer>>> = {
  enqueueJob: {
    too_many_queues: () => withoutNumbers(() => call('POST', '/jobs', { queue: at.newQueue() })),
    idempotency_key_reused: () => enqueueOnce('/jobs', { payload: 1 }, { payload: 2 }),
    queue_full: async () => call('POST', '/jobs', { queue: await full() }),
    queue_elsewhere: () =>
      whereSeveral('enqueue', queueElsewhere('q', 'west'), () => call('POST', '/jobs', {})),
    ...intoBatch((batch) => call('POST', '/jobs', { batch })),
  },
  enqueueJobs: {
    too_many_queues: () =>
      withoutNumbers(() => call('POST', '/jobs/batch', { jobs: [{ queue: at.newQueue() }] })),
    idempotency_key_reused: () =>
      enqueueOnce('/jobs/batch', { jobs: [{ payload: 1 }] }, { jobs: [{ payload: 2 }] }),
    queue_full: async () => call('POST', '/jobs/batch', { jobs: [{ queue: await full() }] }),
    queue_elsewhere: () =>
      whereSeveral('enqueue', queueElsewhere('q', 'west'), () => call('POST', '/jobs/batch', { jobs: [{}] })),
    ...intoBatch((batch) => call('POST', '/jobs/batch', { jobs: [{ batch }] })),
  },
  ackJob: { ...onLease('ack'), ...withFollowUp('ack'), ...followUpInBatch('ack') },
  nackJob: { ...onLease('nack'), ...withFollowUp('nack'), ...followUpInBatch('nack') },
  settleJobs: {
    batch_not_found: () =>
      call('POST', '/jobs/settle', {
        acks: [{ id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN, enqueue: [{ batch: 'none' }] }],
      }),
  },
  createBatch: {
    ...intoBatch((batch) => call('POST', '/batches', { queue: at.newQueue(), on_end: { batch } })),
    queue_elsewhere: () =>
      whereSeveral('createBatch', queueElsewhere('q', 'west'), () =>
        call('POST', '/batches', { queue: 'q' }),
      ),
    too_many_queues: () => withoutNumbers(() => call('POST', '/batches', { queue: at.newQueue() })),
    idempotency_key_reused: () => enqueueOnce('/batches', { queue: 'q' }, { queue: 'q', closed: true }),
    queue_full: async () => {
      const queue = await full();
      return call('POST', '/batches', { queue, jobs: [{ queue }] });
    },
  },
  getBatch: { batch_not_found: unknownBatch('GET') },
  explainBatch: { batch_not_found: unknownBatch('GET', '/explain') },
  closeBatch: {
    batch_not_found: unknownBatch('POST', '/close'),
    batch_closed: async () => call('POST', `/batches/${await newBatch(true)}/close`),
  },
  cancelBatch: { batch_not_found: unknownBatch('DELETE') },
  claimJobs: {
    session_not_found: () => call('POST', '/jobs/claim', { session: UNKNOWN_TOKEN }),
  },
  holdSession: {
    session_not_found: () => call('POST', '/sessions', { session: UNKNOWN_TOKEN }),
    too_many_sessions: () =>
      whereSeveral('holdSession', tooManySessions(10_000), () => call('POST', '/sessions', {})),
  },
  releaseJob: onLease('release'),
  extendLease: onLease('extend', { lease_seconds: 30 }),
  getJob: { job_not_found: unknownJob('GET') },
  getJobHistory: { job_not_found: unknownJob('GET', '/history') },
  explainJob: { job_not_found: unknownJob('GET', '/explain') },
  cancelJob: {
    job_not_found: unknownJob('DELETE'),
    job_finished: async () => call('DELETE', `/jobs/${await finished()}`),
  },
  retryJob: {
    job_not_found: unknownJob('POST', '/retry'),
    job_leased: async () => call('POST', `/jobs/${(await leased()).id}/retry`),
    job_finished: async () => call('POST', `/jobs/${await finished()}/retry`),
    unique_key_taken: async () => call('POST', `/jobs/${await deadWithoutKey()}/retry`),
  },
  changeJob: {
    job_not_found: unknownJob('PATCH', '', { priority: 1 }),
    job_leased: async () => call('PATCH', `/jobs/${(await leased()).id}`, { priority: 1 }),
    job_finished: async () => call('PATCH', `/jobs/${await finished()}`, { priority: 1 }),
  },
  explainQueue: { queue_not_found: unknownQueue('GET', '/explain') },
  getQueueErrors: { queue_not_found: unknownQueue('GET', '/errors') },
  getQueue: { queue_not_found: unknownQueue('GET') },
  configureQueue: {
    too_many_queues: () => withoutNumbers(() => call('PUT', `/queues/${at.newQueue()}`, {})),
    queue_elsewhere: () =>
      whereSeveral('configureQueue', queueElsewhere('q', 'west'), () =>
        call('PUT', '/queues/q', { database: 'east' }),
      ),
    queue_busy: () =>
      whereSeveral('configureQueue', queueBusy('q.dead', 'is being relocated to the database "west"'), () =>
        call('PUT', '/queues/q', { dead_letter_queue: 'q.dead' }),
      ),
  },
  relocateQueue: {
    queue_not_found: unknownQueue('POST', '/relocate', { to: 'home' }),
    queue_elsewhere: async () => call('POST', `/queues/${await full()}/relocate`, { to: 'home' }),
    queue_busy: () => relocateTo('west', queueBusy('q', 'is worked on by an operation')),
    database_closed: () => relocateTo('west', databaseClosed('west')),
    too_many_operations: () => relocateTo('west', tooManyOperations(20, true)),
  },
  configureDatabase: {
    database_not_found: () => call('PUT', '/databases/east', { accepts_queues: true }),
  },
  pauseQueue: {
    too_many_queues: () => withoutNumbers(() => call('POST', `/queues/${at.newQueue()}/pause`)),
  },
  resumeQueue: { queue_not_found: unknownQueue('POST', '/resume') },
  pauseGroup: {
    too_many_queues: () => withoutNumbers(() => call('POST', `/queues/${at.newQueue()}/groups/g/pause`)),
    async too_many_paused_groups() {
      const queue = at.newQueue();
      await at.configure(queue, {});
      const all = `update dibs.queues set paused_groups = array(select 'x' || n from generate_series(1, 1000) n) where name = $1`;
      await onAll(service.databaseUrl, all, [queue]);
      return call('POST', `/queues/${queue}/groups/g/pause`);
    },
  },
  resumeGroup: { queue_not_found: unknownQueue('POST', '/groups/g/resume') },
  deleteQueue: {
    queue_not_found: unknownQueue('DELETE'),
    queue_not_empty: async () => call('DELETE', `/queues/${await full()}`),
  },
  purgeQueue: { queue_not_found: unknownQueue('POST', '/purge', { states: ['dead'] }) },
  redriveQueue: { queue_not_found: unknownQueue('POST', '/redrive', {}) },
  startOperation: {
    queue_not_found: () => call('POST', '/operations', { ...DEAD, queue: at.newQueue('none') }),
    too_many_operations: async () => {
      const queue = await full();
      // A duty ends those without a queue, one by one. It never gets through so many before the call.
      await sql(`insert into dibs.operations (id, verb, queue_id, queue, states, dry_run, last_position,
          open_transactions, next_transaction, state, worked_at)
        select gen_random_uuid(), 'cancel', 0, 'many', '{dead}', true, 0, '{}', 0, 'running', now()
        from generate_series(1, 5000)`);
      return call('POST', '/operations', { ...DEAD, queue });
    },
  },
  getOperation: { operation_not_found: unknown('GET', `/operations/${UNKNOWN_ID}`) },
  stopOperation: { operation_not_found: unknown('DELETE', `/operations/${UNKNOWN_ID}`) },
  getSchedule: { schedule_not_found: unknown('GET', '/schedules/none') },
  deleteSchedule: { schedule_not_found: unknown('DELETE', '/schedules/none') },
  triggerSchedule: {
    schedule_not_found: unknown('POST', '/schedules/none/trigger'),
    too_many_queues: async () => {
      const name = await schedule(at.newQueue());
      return withoutNumbers(() => call('POST', `/schedules/${name}/trigger`));
    },
    queue_full: async () => call('POST', `/schedules/${await schedule(await full())}/trigger`),
  },
  createKey: {
    key_name_taken: async () => {
      const key = { name: 'one', scopes: ['admin'] };
      await at.ok('POST', '/keys', key);
      return call('POST', '/keys', key);
    },
    too_many_keys: async () => {
      await sql(`insert into dibs.access_keys (id, name, hash, scopes, queues)
        select gen_random_uuid(), 'many ' || n, sha256(n::text::bytea), '{read}', '{*}' from generate_series(1, 10000) n`);
      return call('POST', '/keys', { name: 'too many', scopes: ['read'] });
    },
  },
  revokeKey: { key_not_found: unknown('DELETE', `/keys/${UNKNOWN_ID}`) },
  rotateKey: { key_not_found: () => call('POST', `/keys/${UNKNOWN_ID}/rotate`, {}) },
};

const documented = Object.entries(DOCUMENTED).flatMap(([name, codes]) =>
  codes
    .filter((code) => !COMMON.some((common) => common === code))
    .map((code): [string, string] => [name, code]),
);

/** Those of `COMMON` are held by test/http/commonRefusals.test.ts. */
describe('each refusal of its own that an operation names in the document', () => {
  test('has a case here, and each case is named', () => {
    const cases = Object.entries(CASES).flatMap(([name, codes]) =>
      Object.keys(codes).map((code) => `${name} ${code}`),
    );
    expect(documented.map((pair) => pair.join(' ')).sort()).toEqual(cases.sort());
  });

  test.each(documented)('%s can be answered %s', async (name, code) => {
    const answer = await CASES[name]?.[code]?.();
    expect(answer?.body).toMatchObject({ code });
  });
});
