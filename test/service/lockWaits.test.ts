import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { openTransaction } from '../support/beside.ts';
import { onServer } from '../support/database.ts';
import { moves } from '../support/moves.ts';
import { type Answer, type Method, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';

/*
 * A transaction of a user may stay open for any time, and hold what a call needs. This walks the list of all that may wait for it.
 * The pool has ten connections. More calls than that wait, and a neighbour is served.
 */

/** So many clients make the same call, again and again. */
const CLIENTS = 30;
/** So many times the neighbour makes all of its calls. */
const CYCLES = 8;
/** So many tests wait side by side, each at a service and a database of its own. */
const SIDE_BY_SIDE = 3;
vi.setConfig({ maxConcurrency: SIDE_BY_SIDE });

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;
type User = Awaited<ReturnType<typeof openTransaction>>;
type Call = (i: number) => Promise<Answer>;

interface Place {
  service: Service;
  at: ReturnType<typeof moves>;
}
let places: Place[];
beforeAll(async () => {
  const services = Array.from({ length: SIDE_BY_SIDE }, () => startService({ auth: 'off' }));
  places = (await Promise.all(services)).map((service) => ({ service, at: moves(service) }));
});
afterAll(() => Promise.all(places.map(({ service }) => service.stop())));

/** A new queue whose jobs die at their first nack. */
async function newQueue(at: Place['at'], prefix: string): Promise<string> {
  const name = at.newQueue(prefix);
  await at.configure(name, { max_attempts: 1 });
  return name;
}

/** What a kind needs: a queue of its own, that of the neighbour, and what the user may hold. */
function held({ service, at }: Place, user: User, { queue, other }: { queue: string; other: string }) {
  const call = (method: Method, path: string, body?: unknown, headers?: Record<string, string>) =>
    service.call(method, path, body, headers);
  const locksJobs = (ids: string[]) =>
    user.query('select from dibs.jobs where id = any ($1::uuid[]) for update', [ids]);

  async function leased(): Promise<Json[]> {
    await at.enqueueAll(Array(CLIENTS).fill({ queue }));
    return at.claim(queue, { limit: CLIENTS, lease_seconds: 600 });
  }

  return {
    at,
    queue,
    other,
    databaseUrl: service.databaseUrl,
    call,
    leased,
    locksJobs,

    /** The user's transaction has enqueued a job with the unique key "held". */
    holdsKey: (name = queue) => user.query('select dibs.enqueue($1, unique_key => $2)', [name, 'held']),
    locksQueue: () => user.query('select from dibs.queues where name = $1 for update', [queue]),
    locksRow: (table: string, column: string, value: string) =>
      user.query(`select from dibs.${table} where ${column} = $1 for update`, [value]),

    async dead(job: object = {}): Promise<string> {
      const { id } = await at.enqueue({ queue, ...job });
      await at.settle('nack', await at.claimOne(queue));
      return id;
    },

    /** A job with a delay, locked by the user. */
    async lockedJob(): Promise<string> {
      const { id } = await at.enqueue({ queue, delay_seconds: 600 });
      await locksJobs([id]);
      return id;
    },

    async lockedLeases(settle: (job: Json) => Promise<Answer>): Promise<Call> {
      const jobs = await leased();
      await locksJobs(jobs.map(({ id }) => id));
      return (i) => settle(jobs[i % CLIENTS]);
    },
  };
}

type Held = ReturnType<typeof held>;
type Kind = (held: Held) => Promise<Call>;
/** `next` has another queue at each call. */
type Prepare = (next: () => Promise<Held>) => Promise<Call>;

let keys = 0;
const onceKey = () => ({ 'idempotency-key': `once ${++keys}` });

/** Each has the user hold something, and returns a call that needs it. */
const KINDS: Record<string, Kind> = {
  async 'an enqueue with a unique key'({ queue, call, holdsKey }) {
    await holdsKey();
    return () => call('POST', '/jobs', { queue, unique_key: 'held' });
  },
  async 'an enqueue with a unique key that opens a window'({ queue, call, holdsKey }) {
    await holdsKey();
    return () => call('POST', '/jobs', { queue, unique_key: 'held', unique_for_seconds: 60 });
  },
  async 'a batch into two queues with a unique key'({ queue, other, call, holdsKey }) {
    await holdsKey();
    return () => call('POST', '/jobs/batch', { jobs: [{ queue, unique_key: 'held' }, { queue: other }] });
  },
  async 'an enqueue with an Idempotency-Key and a unique key'({ queue, call, holdsKey }) {
    await holdsKey();
    return () => call('POST', '/jobs', { queue, unique_key: 'held' }, onceKey());
  },
  async 'an enqueue into a queue that the transaction has created'({ at, call, holdsKey }) {
    const made = at.newQueue('made');
    await holdsKey(made);
    return () => call('POST', '/jobs', { queue: made });
  },
  async 'an enqueue with an Idempotency-Key into such a queue'({ at, call, holdsKey }) {
    const made = at.newQueue('made');
    await holdsKey(made);
    return () => call('POST', '/jobs', { queue: made }, onceKey());
  },
  async 'a configuration of such a queue'({ at, call, holdsKey }) {
    const made = at.newQueue('made');
    await holdsKey(made);
    return () => call('PUT', `/queues/${made}`, {});
  },
  async 'a pause of such a queue'({ at, call, holdsKey }) {
    const made = at.newQueue('made');
    await holdsKey(made);
    return () => call('POST', `/queues/${made}/pause`);
  },
  async 'a retry of a dead job whose unique key is held'({ call, holdsKey, dead }) {
    const id = await dead({ unique_key: 'held' });
    await holdsKey();
    return () => call('POST', `/jobs/${id}/retry`);
  },
  async 'a deletion of a queue'({ queue, call, holdsKey }) {
    await holdsKey();
    return () => call('DELETE', `/queues/${queue}`);
  },
  async 'a forced deletion of a queue'({ queue, at, call, holdsKey }) {
    await at.enqueue({ queue });
    await holdsKey();
    return () => call('DELETE', `/queues/${queue}?force=true`);
  },
  async 'an ack with a follow-up whose unique key is held'({ queue, at, holdsKey, leased }) {
    const jobs = await leased();
    await holdsKey();
    const enqueue = [{ queue, unique_key: 'held' }];
    return (i) => at.settle('ack', jobs[i % CLIENTS], { enqueue });
  },
  async 'an ack with a follow-up into a queue that the transaction has created'({ at, holdsKey, leased }) {
    const jobs = await leased();
    const made = at.newQueue('made');
    await holdsKey(made);
    return (i) => at.settle('ack', jobs[i % CLIENTS], { enqueue: [{ queue: made }] });
  },
  async 'a nack with a follow-up whose unique key is held'({ queue, at, holdsKey, leased }) {
    const jobs = await leased();
    await holdsKey();
    const enqueue = [{ queue, unique_key: 'held' }];
    return (i) => at.settle('nack', jobs[i % CLIENTS], { enqueue });
  },
  async 'a trigger of a schedule whose job has a held unique key'({ queue, at, call, holdsKey }) {
    const name = `s${++keys}`;
    await at.ok('PUT', `/schedules/${name}`, { cron: '0 0 1 1 *', job: { queue, unique_key: 'held' } });
    await holdsKey();
    return () => call('POST', `/schedules/${name}/trigger`);
  },
  async 'a change of a schedule'({ queue, at, call, locksRow }) {
    const name = `s${++keys}`;
    const spec = { cron: '0 0 1 1 *', job: { queue } };
    await at.ok('PUT', `/schedules/${name}`, spec);
    await locksRow('schedules', 'name', name);
    return () => call('PUT', `/schedules/${name}`, spec);
  },
  async 'a deletion of a schedule'({ queue, at, call, locksRow }) {
    const name = `s${++keys}`;
    await at.ok('PUT', `/schedules/${name}`, { cron: '0 0 1 1 *', job: { queue } });
    await locksRow('schedules', 'name', name);
    return () => call('DELETE', `/schedules/${name}`);
  },
  async 'a rotation of a key'({ at, call, locksRow }) {
    const { id } = await at.ok('POST', '/keys', { name: `k${++keys}`, scopes: ['read'] });
    await locksRow('access_keys', 'id', id);
    return () => call('POST', `/keys/${id}/rotate`, {});
  },
  async 'a stop of an operation'({ queue, at, call, locksRow, databaseUrl }) {
    await at.enqueue({ queue, delay_seconds: 600 });
    const body = { verb: 'cancel', queue, filter: { states: ['scheduled'] }, dry_run: true };
    const { id } = await at.ok('POST', '/operations', body);
    await until(async () => (await at.ok('GET', `/operations/${id}`)).state === 'done');
    await onServer(
      databaseUrl,
      `update dibs.operations set state = 'running', finished_at = null where id = $1`,
      [id],
    );
    await locksRow('operations', 'id', id);
    return () => call('DELETE', `/operations/${id}`);
  },
  async 'a cancel of a job'({ call, lockedJob }) {
    const id = await lockedJob();
    return () => call('DELETE', `/jobs/${id}`);
  },
  async 'a change of a job'({ call, lockedJob }) {
    const id = await lockedJob();
    return () => call('PATCH', `/jobs/${id}`, { priority: 1 });
  },
  async 'a retry of a job that is locked'({ call, lockedJob }) {
    const id = await lockedJob();
    return () => call('POST', `/jobs/${id}/retry`);
  },
  async 'a wait for a job'({ call, lockedJob }) {
    const id = await lockedJob();
    return () => call('GET', `/jobs/${id}?wait_seconds=1`);
  },
  async 'a configuration of a queue that is locked'({ queue, call, locksQueue }) {
    await locksQueue();
    return () => call('PUT', `/queues/${queue}`, { max_attempts: 3 });
  },
  async 'a pause of a queue that is locked'({ queue, call, locksQueue }) {
    await locksQueue();
    return () => call('POST', `/queues/${queue}/pause`);
  },
  async 'a resume of a queue that is locked'({ queue, call, locksQueue }) {
    await locksQueue();
    return () => call('POST', `/queues/${queue}/resume`);
  },
  async 'an enqueue into a queue that is locked'({ queue, call, locksQueue }) {
    await locksQueue();
    return () => call('POST', '/jobs', { queue });
  },
  async 'an enqueue with an Idempotency-Key into a queue that is locked'({ queue, call, locksQueue }) {
    await locksQueue();
    return () => call('POST', '/jobs', { queue }, onceKey());
  },
  async 'the first enqueue with a fairness key into a queue that is locked'({ queue, call, locksQueue }) {
    await locksQueue();
    return () => call('POST', '/jobs', { queue, fairness_key: 'k' });
  },
  async 'a settlement of many'({ call, locksJobs, leased }) {
    const jobs = await leased();
    await locksJobs(jobs.map(({ id }) => id));
    return (i) => {
      const { id, lease_token } = jobs[i % CLIENTS];
      return call('POST', '/jobs/settle', { nacks: [{ id, lease_token }] });
    };
  },
  'an ack': ({ at, lockedLeases }) => lockedLeases((job) => at.settle('ack', job)),
  'a nack': ({ at, lockedLeases }) => lockedLeases((job) => at.settle('nack', job)),
  'a release': ({ at, lockedLeases }) => lockedLeases((job) => at.settle('release', job)),
  'an extension': ({ at, lockedLeases }) =>
    lockedLeases((job) => at.settle('extend', job, { lease_seconds: 60 })),
};

/** The same call in a queue of its own for each client: one queue takes one connection or two, and these take one each. */
const ofManyQueues =
  (kind: Kind): Prepare =>
  async (next) => {
    const calls: Call[] = [];
    for (let i = 0; i < CLIENTS; i++) calls.push(await kind(await next()));
    return (i) => (calls[i % CLIENTS] as Call)(i);
  };

const inOneQueue =
  (kind: Kind): Prepare =>
  async (next) =>
    kind(await next());

const oneLease =
  (verb: 'ack' | 'nack' | 'extend', body: object = {}): Kind =>
  async ({ at, queue, locksJobs }) => {
    await at.enqueue({ queue });
    const job = await at.claimOne(queue, { lease_seconds: 600 });
    await locksJobs([job.id]);
    return () => at.settle(verb, job, body);
  };

const MANY_QUEUES: Record<string, Kind> = {
  'an enqueue with a unique key': KINDS['an enqueue with a unique key'] as Kind,
  'an enqueue into a queue that is locked': KINDS['an enqueue into a queue that is locked'] as Kind,
  'a forced deletion of a queue': KINDS['a forced deletion of a queue'] as Kind,
  'an ack': oneLease('ack'),
  'a nack': oneLease('nack'),
  'an extension': oneLease('extend', { lease_seconds: 60 }),
};

/** What passes over what is locked. */
const SERVED: Record<string, Kind> = {
  async 'a redrive of a dead job whose unique key is held'({ queue, call, holdsKey, dead }) {
    await dead({ unique_key: 'held' });
    await holdsKey();
    return () => call('POST', `/queues/${queue}/redrive`, {});
  },
  async 'a purge of jobs that are locked'({ queue, call, locksJobs, dead }) {
    const id = await dead();
    await locksJobs([id]);
    return () => call('POST', `/queues/${queue}/purge`, { states: ['dead'] });
  },
};

/** A client of another queue. It makes the calls that may meet a lock, and those that may not. */
function neighbour({ service, at }: Place, name: string) {
  const { call } = service;
  let n = 0;
  const told = async (what: string, answer: Promise<Answer>) => {
    const { status, body, text } = await answer;
    expect(status, `${what}: ${text}`).toBeLessThan(300);
    return body;
  };
  return {
    async cycle() {
      const key = `k${n++}`;
      await told('enqueue', call('POST', '/jobs', { queue: name }));
      await told('keyed', call('POST', '/jobs', { queue: name, unique_key: key }));
      await told('once', call('POST', '/jobs', { queue: name, unique_key: `${key} once` }, onceKey()));
      const { jobs } = await told('claim', call('POST', '/jobs/claim', { queues: [name], limit: 3 }));
      const [first, second, third] = jobs;
      await told('ack', at.settle('ack', first));
      await told(
        'follow-up',
        at.settle('ack', second, { enqueue: [{ queue: name, unique_key: `${key} next` }] }),
      );
      await told('nack', at.settle('nack', third));
      await told('retry', call('POST', `/jobs/${third.id}/retry`));
      await told('cancel', call('DELETE', `/jobs/${third.id}`));
      await told('configure', call('PUT', `/queues/${name}`, { max_attempts: 1 }));
      const { jobs: left } = await told('claim', call('POST', '/jobs/claim', { queues: [name], limit: 9 }));
      for (const job of left) await told('ack', at.settle('ack', job));
    },
  };
}

/** Clients that make these calls until `stop`, each of them at least one. Returns what they were answered. */
function flood(calls: Call[]) {
  let going = true;
  const answers: Answer[] = [];
  const clients = Array.from({ length: Math.max(CLIENTS, calls.length) }, async (_, i) => {
    while (going) {
      answers.push(await (calls[i % calls.length] as Call)(i));
      await sleep(20);
    }
  });
  return {
    async stop() {
      going = false;
      await Promise.all(clients);
      return answers;
    },
  };
}

const waitingForLocks = async ({ service }: Place) => {
  const [row] = await onServer<{ n: number }>(
    service.databaseUrl,
    `select count(distinct pid)::integer as n from pg_locks join pg_stat_activity using (pid)
     where not granted and application_name = 'dibs' and datname = current_database()`,
  );
  return row?.n ?? 0;
};

async function neighbourAt(place: Place, prepare: Prepare[], isHeld: boolean): Promise<Answer[]> {
  const { service, at } = place;
  const user = await openTransaction(service.databaseUrl);
  const other = await newQueue(at, 'other');
  const next = async () => held(place, user, { queue: await newQueue(at, 'held'), other });
  const calls: Call[] = [];
  for (const one of prepare) calls.push(await one(next));
  const beside = neighbour(place, other);
  const { stop } = flood(calls);
  let answers: Answer[] = [];
  try {
    if (isHeld) await until(async () => (await waitingForLocks(place)) > 0);
    for (let i = 0; i < CYCLES; i++) await beside.cycle();
  } finally {
    answers = await stop();
    await user.end('rollback');
  }
  return answers;
}

/** At a place that no other test uses. There is one for each that runs. */
async function neighbourBeside(prepare: Prepare[], isHeld = true): Promise<Answer[]> {
  const place = places.pop() as Place;
  try {
    return await neighbourAt(place, prepare, isHeld);
  } finally {
    places.push(place);
  }
}

describe('while an open transaction holds what others wait for, a neighbour is served, and they are 503 in time:', () => {
  test.concurrent.each(Object.keys(KINDS))('%s', async (kind) => {
    const answers = await neighbourBeside([inOneQueue(KINDS[kind] as Kind)]);
    expect(answers.length).toBeGreaterThanOrEqual(CLIENTS);
    for (const { status, headers, body } of answers) {
      expect({ status, code: body?.code }).toEqual({ status: 503, code: 'unavailable' });
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      // A look has no outcome.
      if (kind !== 'a wait for a job') expect(body).toMatchObject({ outcome: 'not_done' });
    }
  });

  test.concurrent.each(Object.keys(MANY_QUEUES))('in thirty queues: %s', async (kind) => {
    const answers = await neighbourBeside([ofManyQueues(MANY_QUEUES[kind] as Kind)]);
    for (const { status, body } of answers)
      expect({ status, outcome: body?.outcome }).toEqual({ status: 503, outcome: 'not_done' });
  });

  test('all kinds together', async () => {
    await neighbourBeside([...Object.values(KINDS), ...Object.values(SERVED)].map(inOneQueue));
  });
});

describe('while an open transaction holds what others pass over, a neighbour is served, and so are they:', () => {
  test.each(Object.keys(SERVED))('%s', async (kind) => {
    const answers = await neighbourBeside([inOneQueue(SERVED[kind] as Kind)], false);
    for (const { status } of answers) expect(status).toBe(200);
  });
});
