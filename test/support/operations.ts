import type { Scope } from '../../src/caller.ts';
import type { as } from './access.ts';
import { UNKNOWN_ID, UNKNOWN_TOKEN } from './moves.ts';
import type { Method } from './service.ts';

/*
 * How to call each operation of the document. A new operation needs an entry here.
 */

/** A queue with a job in each state that matters, and a schedule. */
export interface Fixture {
  queue: string;
  ready: string;
  dead: string;
  leased: { id: string; lease_token: string };
  schedule: string;
  /** The id of an operation that is done. */
  operation: string;
  /** The id of an open batch. */
  batch: string;
}

/** A request: its path, without the method, and what goes with it. */
export interface Request {
  path: string;
  body?: unknown;
  headers?: Record<string, string>;
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

/**
 * What a caller of other queues is answered. `left out`: 200, without anything of the queue. `item 404`: 200, with a 404 for
 * the item.
 */
export type Foreign = 403 | 404 | 'left out' | 'item 404';

export interface Case {
  call(at: Fixture): Request;
  /** To a caller with the scope and the queue. */
  allowed: number;
  foreign: Foreign;
  /** Scopes beside the one of the operation. */
  also?: Scope;
  /** What the answer has of the queue, where `foreign` is `left out`. */
  shows?(at: Fixture): string;
  /** The same, for an answer that may be without it for its own callers, too. */
  hides?(at: Fixture): string;
}

/** A request that touches a queue of the caller and a foreign one. */
export interface Mixed {
  call(mine: Fixture, theirs: Fixture, root: ReturnType<typeof as>): Request | Promise<Request>;
  /** With 200: only `mine` is touched or shown, as `check` sees. */
  status: number;
  check?(body: Json, mine: Fixture, theirs: Fixture): boolean;
}

export interface Entry {
  method: Method;
  /** Without `*`, nobody may use it. */
  everywhere?: true;
  /** No key is needed. */
  isPublic?: true;
  cases: Record<string, Case>;
  mixed?: Record<string, Mixed>;
}

const one = (
  method: Method,
  allowed: number,
  foreign: Foreign,
  call: Case['call'],
  more: Partial<Entry> = {},
) => ({
  method,
  cases: { plain: { call, allowed, foreign } },
  ...more,
});

const onQueue = (method: Method, allowed: number, path = '', body?: unknown): Entry =>
  one(method, allowed, 403, ({ queue }) => ({ path: `/queues/${queue}${path}`, body }));

const onSchedule = (method: Method, allowed: number, path = ''): Entry =>
  one(method, allowed, 404, ({ schedule }) => ({ path: `/schedules/${schedule}${path}` }));

/** An operation on everything, such as all access keys: only for callers with the pattern `*`. */
export const onEverything = (method: Method, allowed: number, path: string, body?: unknown): Entry =>
  one(method, allowed, 403, () => ({ path, body }), { everywhere: true });

let names = 0;

const open = (path: string): Entry => one('GET', 200, 403, () => ({ path }), { isPublic: true });

const spec = (queue: string) => ({ cron: '0 0 1 1 *', job: { queue } });
const moving = (queue: string, to: string) => ({ verb: 'move', queue, to, filter: { states: ['ready'] } });
const listed = (path: string, shows: Case['shows']): Case => ({
  call: () => ({ path }),
  allowed: 200,
  foreign: 'left out',
  shows,
});

/** A list goes on for a caller where it ended for another, who sees more. */
const cursorOfAnother = (
  path: string,
  isShown: (text: string, of: Fixture) => boolean,
  most = 1000,
): Mixed => ({
  async call(_, __, root) {
    const { body } = await root('GET', `${path}?limit=1`);
    return { path: `${path}?limit=${most}&cursor=${body.next_cursor}` };
  },
  status: 200,
  check: (body, _, theirs) => !isShown(JSON.stringify(body), theirs),
});

const settling = (verb: 'ack' | 'nack' | 'release' | 'extend', more: object = {}): Entry => {
  const takesFollowUps = verb === 'ack' || verb === 'nack';
  const call = ({ leased }: Fixture, enqueue?: object[]): Request => ({
    path: `/jobs/${leased.id}/${verb}`,
    body: { lease_token: leased.lease_token, ...more, ...(enqueue ? { enqueue } : {}) },
  });
  return {
    method: 'POST',
    cases: {
      plain: { call: (at) => call(at), allowed: 200, foreign: 404 },
      ...(takesFollowUps
        ? {
            'a chained enqueue': {
              call: (at: Fixture) => call(at, [{ queue: at.queue }]),
              allowed: 200,
              foreign: 403 as const,
              also: 'produce' as const,
            },
          }
        : {}),
    },
    ...(takesFollowUps
      ? {
          mixed: {
            'a chained enqueue into the foreign queue': {
              call: (mine: Fixture, theirs: Fixture) =>
                call(mine, [{ queue: mine.queue }, { queue: theirs.queue }]),
              status: 403,
            },
            'a chained enqueue into the foreign batch': {
              call: (mine: Fixture, theirs: Fixture) =>
                call(mine, [{ queue: mine.queue, batch: theirs.batch }]),
              status: 404,
            },
          },
        }
      : {}),
  };
};

let keys = 0;

export const OPERATIONS: Record<string, Entry> = {
  getVersion: open('/version'),
  getHealth: open('/healthz'),
  getReadiness: open('/readyz'),

  enqueueJob: {
    method: 'POST',
    cases: {
      plain: { call: ({ queue }) => ({ path: '/jobs', body: { queue } }), allowed: 201, foreign: 403 },
      'with an Idempotency-Key': {
        call: ({ queue }) => ({
          path: '/jobs',
          body: { queue },
          headers: { 'idempotency-key': `key-${++keys}` },
        }),
        allowed: 201,
        foreign: 403,
      },
      'waits for its end': {
        call: ({ queue }) => ({ path: '/jobs', body: { queue }, headers: { prefer: 'wait=0' } }),
        allowed: 201,
        foreign: 403,
      },
    },
    mixed: {
      'a job into the foreign batch': {
        call: (mine, theirs) => ({ path: '/jobs', body: { queue: mine.queue, batch: theirs.batch } }),
        status: 404,
      },
    },
  },
  enqueueJobs: {
    ...one('POST', 201, 403, ({ queue }) => ({
      path: '/jobs/batch',
      body: { jobs: [{ queue }, { queue }] },
    })),
    mixed: {
      'both queues in one batch': {
        call: (mine, theirs) => ({
          path: '/jobs/batch',
          body: { jobs: [{ queue: mine.queue }, { queue: theirs.queue }] },
        }),
        status: 403,
      },
    },
  },

  claimJobs: {
    ...one('POST', 200, 403, ({ queue }) => ({
      path: '/jobs/claim',
      body: { queues: [queue], claim_id: 'c', lease_seconds: 43_200 },
    })),
    mixed: {
      'a claim of 16 queues': {
        call: (mine, theirs) => ({
          path: '/jobs/claim',
          body: { queues: [...Array(15).keys()].map((n) => `${mine.queue}${n || ''}`).concat(theirs.queue) },
        }),
        status: 403,
      },
    },
  },
  ackJob: settling('ack'),
  nackJob: settling('nack', { retry: false }),
  releaseJob: settling('release'),
  extendLease: settling('extend', { lease_seconds: 600 }),
  settleJobs: {
    method: 'POST',
    cases: {
      plain: {
        call: ({ leased }) => ({ path: '/jobs/settle', body: { acks: [leased] } }),
        allowed: 200,
        foreign: 'item 404',
      },
      'with a claim': {
        call: ({ leased, queue }) => ({
          path: '/jobs/settle',
          body: { acks: [leased], claim: { queues: [queue], lease_seconds: 43_200 } },
        }),
        allowed: 200,
        foreign: 403,
      },
    },
    mixed: {
      'a claim of the foreign queue': {
        call: (mine, theirs) => ({
          path: '/jobs/settle',
          body: { acks: [mine.leased], claim: { queues: [mine.queue, theirs.queue] } },
        }),
        status: 403,
      },
      'a lease in each queue': {
        call: (mine, theirs) => ({
          path: '/jobs/settle',
          body: { releases: [theirs.leased, mine.leased], extends: [{ ...theirs.leased, lease_seconds: 1 }] },
        }),
        status: 200,
        check: ({ releases, extends: extended }) =>
          releases[0].status === 404 && releases[1].status === 200 && extended[0].status === 404,
      },
      'a chained enqueue into the foreign queue': {
        call: (mine, theirs) => ({
          path: '/jobs/settle',
          body: { acks: [{ ...mine.leased, enqueue: [{ queue: theirs.queue }] }] },
        }),
        status: 403,
      },
    },
  },

  listJobs: {
    method: 'GET',
    cases: {
      all: listed('/jobs?limit=1000', ({ ready }) => ready),
      'of a queue': { call: ({ queue }) => ({ path: `/jobs?queue=${queue}` }), allowed: 200, foreign: 403 },
    },
    mixed: { 'the cursor of another': cursorOfAnother('/jobs', (text, { ready }) => text.includes(ready)) },
  },
  getJob: {
    method: 'GET',
    cases: {
      'by id': { call: ({ ready }) => ({ path: `/jobs/${ready}` }), allowed: 200, foreign: 404 },
      waits: {
        call: ({ ready }) => ({ path: `/jobs/${ready}?wait_seconds=0.05` }),
        allowed: 200,
        foreign: 404,
      },
    },
  },
  cancelJob: one('DELETE', 200, 404, ({ ready }) => ({ path: `/jobs/${ready}` })),
  changeJob: one('PATCH', 200, 404, ({ ready }) => ({ path: `/jobs/${ready}`, body: { priority: 7 } })),
  retryJob: one('POST', 200, 404, ({ dead }) => ({ path: `/jobs/${dead}/retry` })),
  explainJob: one('GET', 200, 404, ({ ready }) => ({ path: `/jobs/${ready}/explain` })),

  getJobHistory: one('GET', 200, 404, ({ ready }) => ({ path: `/jobs/${ready}/history` })),

  listQueues: {
    method: 'GET',
    cases: { plain: listed('/queues?limit=1000', ({ queue }) => `"${queue}"`) },
    mixed: {
      'the cursor of another': cursorOfAnother('/queues', (text, { queue }) => text.includes(`"${queue}"`)),
    },
  },
  listDatabases: {
    method: 'GET',
    cases: {
      plain: {
        call: () => ({ path: '/databases' }),
        allowed: 200,
        foreign: 'left out',
        hides: () => '"queues":1',
      },
    },
  },
  configureDatabase: onEverything('PUT', 200, '/databases/home', { accepts_queues: true }),
  getQueue: onQueue('GET', 200),
  explainQueue: onQueue('GET', 200, '/explain'),
  getQueueErrors: onQueue('GET', 200, '/errors'),
  listWorkers: {
    method: 'GET',
    cases: {
      all: listed('/workers', ({ queue }) => `"${queue}"`),
      'of a queue': {
        call: ({ queue }) => ({ path: `/workers?queue=${queue}` }),
        allowed: 200,
        foreign: 403,
      },
    },
  },
  configureQueue: onQueue('PUT', 200, '', { max_attempts: 3 }),
  deleteQueue: onQueue('DELETE', 204, '?force=true'),
  pauseQueue: onQueue('POST', 200, '/pause'),
  resumeQueue: onQueue('POST', 200, '/resume'),
  pauseGroup: onQueue('POST', 200, '/groups/customer-17/pause'),
  resumeGroup: onQueue('POST', 200, '/groups/customer-17/resume'),
  purgeQueue: onQueue('POST', 200, '/purge', { states: ['ready', 'dead'] }),
  redriveQueue: onQueue('POST', 200, '/redrive', {}),
  // No database has this name. databases/relocation goes further.
  relocateQueue: onQueue('POST', 400, '/relocate', { to: 'nowhere' }),

  startOperation: {
    ...one('POST', 202, 403, ({ queue }) => ({
      path: '/operations',
      body: { verb: 'cancel', queue, filter: { states: ['dead'] }, dry_run: true },
    })),
    mixed: {
      'a move to the foreign queue': {
        call: (mine, theirs) => ({ path: '/operations', body: moving(mine.queue, theirs.queue) }),
        status: 403,
      },
      'a move from the foreign queue': {
        call: (mine, theirs) => ({ path: '/operations', body: moving(theirs.queue, mine.queue) }),
        status: 403,
      },
    },
  },
  getOperation: one('GET', 200, 404, ({ operation }) => ({ path: `/operations/${operation}` })),
  listOperations: {
    method: 'GET',
    cases: {
      all: listed('/operations?limit=1000', ({ operation }) => operation),
      'of a queue': {
        call: ({ queue }) => ({ path: `/operations?queue=${queue}` }),
        allowed: 200,
        foreign: 403,
      },
    },
    mixed: {
      'the cursor of another': cursorOfAnother('/operations', (text, { operation }) =>
        text.includes(operation),
      ),
    },
  },
  stopOperation: one('DELETE', 200, 404, ({ operation }) => ({ path: `/operations/${operation}` })),

  createBatch: {
    ...one('POST', 201, 403, ({ queue }) => ({ path: '/batches', body: { queue } })),
    mixed: {
      'a job in the foreign queue': {
        call: (mine, theirs) => ({
          path: '/batches',
          body: { queue: mine.queue, jobs: [{ queue: theirs.queue }] },
        }),
        status: 403,
      },
      'a follower in the foreign queue': {
        call: (mine, theirs) => ({
          path: '/batches',
          body: { queue: mine.queue, on_end: { queue: theirs.queue } },
        }),
        status: 403,
      },
      'a follower that joins the foreign batch': {
        call: (mine, theirs) => ({
          path: '/batches',
          body: { queue: mine.queue, on_success: { queue: mine.queue, batch: theirs.batch } },
        }),
        status: 404,
      },
    },
  },
  getBatch: {
    method: 'GET',
    cases: {
      'by id': { call: ({ batch }) => ({ path: `/batches/${batch}` }), allowed: 200, foreign: 404 },
      waits: {
        call: ({ batch }) => ({ path: `/batches/${batch}?wait_seconds=0.05` }),
        allowed: 200,
        foreign: 404,
      },
    },
  },
  listBatches: {
    method: 'GET',
    cases: {
      all: listed('/batches?limit=100', ({ batch }) => batch),
      'of a queue': {
        call: ({ queue }) => ({ path: `/batches?queue=${queue}` }),
        allowed: 200,
        foreign: 403,
      },
    },
    mixed: {
      'the cursor of another': cursorOfAnother('/batches', (text, { batch }) => text.includes(batch), 100),
    },
  },
  explainBatch: one('GET', 200, 404, ({ batch }) => ({ path: `/batches/${batch}/explain` })),
  closeBatch: one('POST', 200, 404, ({ batch }) => ({ path: `/batches/${batch}/close` })),
  // access/batches has a batch with jobs in a foreign queue.
  cancelBatch: one('DELETE', 200, 404, ({ batch }) => ({ path: `/batches/${batch}` })),

  // What it holds does not end. sessions/sessionKeys does so.
  holdSession: one('POST', 404, 404, () => ({ path: '/sessions', body: { session: UNKNOWN_TOKEN } })),

  listSchedules: {
    method: 'GET',
    cases: { plain: listed('/schedules?limit=1000', ({ schedule }) => `"${schedule}"`) },
    mixed: {
      'the cursor of another': cursorOfAnother('/schedules', (text, { schedule }) =>
        text.includes(`"${schedule}"`),
      ),
    },
  },
  getSchedule: onSchedule('GET', 200),
  putSchedule: {
    ...one('PUT', 200, 403, ({ schedule, queue }) => ({ path: `/schedules/${schedule}`, body: spec(queue) })),
    mixed: {
      'an own schedule for a foreign queue': {
        call: (mine, theirs) => ({ path: `/schedules/${mine.schedule}`, body: spec(theirs.queue) }),
        status: 403,
      },
      'the name of a foreign schedule': {
        call: (mine, theirs) => ({ path: `/schedules/${theirs.schedule}`, body: spec(mine.queue) }),
        status: 403,
      },
    },
  },
  deleteSchedule: onSchedule('DELETE', 204),
  triggerSchedule: onSchedule('POST', 201, '/trigger'),

  getOverview: {
    method: 'GET',
    cases: {
      plain: {
        call: () => ({ path: '/overview?limit=1000' }),
        allowed: 200,
        foreign: 'left out',
        hides: ({ queue }) => `"${queue}"`,
      },
      'of a queue': {
        call: ({ queue }) => ({ path: `/overview?queue=${queue}` }),
        allowed: 200,
        foreign: 403,
      },
    },
  },
  getSamples: {
    method: 'GET',
    cases: {
      plain: {
        call: () => ({ path: '/overview/samples' }),
        allowed: 200,
        foreign: 'left out',
        hides: ({ queue }) => `"${queue}"`,
      },
      'of a queue': {
        call: ({ queue }) => ({ path: `/overview/samples?queue=${queue}` }),
        allowed: 200,
        foreign: 403,
      },
    },
  },
  getMetrics: {
    method: 'GET',
    cases: {
      plain: {
        call: () => ({ path: '/metrics' }),
        allowed: 200,
        foreign: 'left out',
        hides: ({ queue }) => `"${queue}"`,
      },
    },
  },
  listKeys: onEverything('GET', 200, '/keys'),
  createKey: one(
    'POST',
    201,
    403,
    ({ queue }) => ({ path: '/keys', body: { name: `${queue} ${++names}`, scopes: ['read'] } }),
    { everywhere: true },
  ),
  revokeKey: onEverything('DELETE', 404, `/keys/${UNKNOWN_ID}`),
  rotateKey: onEverything('POST', 404, `/keys/${UNKNOWN_ID}/rotate`, {}),
  listAudit: onEverything('GET', 200, '/audit'),
};

/** A request to an operation, about a queue and jobs that are not there. */
export function requestOf(name: string): Request & { method: Method } {
  const { method, cases } = OPERATIONS[name] as (typeof OPERATIONS)[string];
  const leased = { id: UNKNOWN_ID, lease_token: UNKNOWN_TOKEN };
  const nowhere = { ready: UNKNOWN_ID, dead: UNKNOWN_ID, leased, operation: UNKNOWN_ID, batch: UNKNOWN_ID };
  const [first] = Object.values(cases);
  const request = first?.call({ ...nowhere, queue: 'nowhere', schedule: 'nowhere' }) as Request;
  return { method, ...request };
}

/** A path with one more parameter, or several, in its query. */
export const withQuery = (path: string, more: string) => `${path}${path.includes('?') ? '&' : '?'}${more}`;
