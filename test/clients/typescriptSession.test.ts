import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Call, CallOptions } from '../../clients/typescript/src/caller.ts';
import { DibsError } from '../../clients/typescript/src/errors.ts';
import type { LeasedJob } from '../../clients/typescript/src/generated.ts';
import { Run } from '../../clients/typescript/src/run.ts';
import { HeldSession } from '../../clients/typescript/src/session.ts';
import { Worker } from '../../clients/typescript/src/worker.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

interface Connection {
  body: { session?: string; resume_seconds?: number };
  isOver: boolean;
  line(said: object | string): void;
  end(): void;
  fail(error: unknown): void;
}

const refusal = (status: number, code: string) =>
  new DibsError({ type: `urn:problem-type:dibs:${code}`, title: code, status, code, detail: code });

/** A Dibs that answers `POST /sessions` as the test says. */
function createDibs() {
  const connections: Connection[] = [];
  const request = ({ body }: Call, { signal, heard }: CallOptions = {}) =>
    new Promise<void>((resolve, reject) => {
      const connection: Connection = {
        body: body as Connection['body'],
        isOver: false,
        line: (said) => heard?.(typeof said === 'string' ? said : `${JSON.stringify(said)}\n`),
        end: () => over(resolve),
        fail: (error) => over(() => reject(error)),
      };
      function over(tell: () => void): void {
        connection.isOver = true;
        tell();
      }
      signal?.addEventListener('abort', () => connection.fail(signal.reason));
      connections.push(connection);
    });
  return { connections, client: { request }, last: () => connections.at(-1) as Connection };
}

function start({ isNeeded = () => false }: { isNeeded?: () => boolean } = {}) {
  const dibs = createDibs();
  const [ended, pump] = [vi.fn(), vi.fn()];
  const session = new HeldSession({ client: dibs.client, resumeSeconds: 5, isNeeded, ended, pump });
  session.start();
  return { ...dibs, session, ended, pump };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('a session is there with its first line, however that is cut into parts', async () => {
  const { session, last } = start();
  expect(last().body).toEqual({ session: undefined, resume_seconds: 5 });
  last().line('{"session":"s');
  expect(session.id).toBeUndefined();
  last().line('1"}\n{}\n');
  expect(session.id).toBe('s1');
});

test('the first claim waits for the session, and for no longer than a second', async () => {
  const { session, pump } = start();
  expect(session.isSettled).toBe(false);
  await pass(1000);
  expect(session.isSettled).toBe(true);
  expect(pump).toHaveBeenCalledOnce();
});

test('while a session is resumed, claims wait for it, and for no longer than a second', async () => {
  const { session, last } = start();
  last().line({ session: 's1' });
  await pass(6000);
  last().end();
  await pass(0);
  expect(session.isSettled).toBe(false);
  last().line({ session: 's1' });
  expect(session.isSettled).toBe(true);
  await pass(6000);
  last().end();
  await pass(1001);
  expect(session.isSettled).toBe(true);
});

test('a connection that is silent for 10 s is lost: the session is resumed', async () => {
  const { connections, session, last } = start();
  last().line({ session: 's1' });
  for (let i = 0; i < 5; i++) {
    await pass(9900);
    last().line({});
  }
  expect(connections).toHaveLength(1);
  await pass(10_001);
  expect(connections[0]?.isOver).toBe(true);
  expect(session.id).toBeUndefined();
  expect(last().body.session).toBe('s1');
  last().line({ session: 's1' });
  expect(session.id).toBe('s1');
});

test('where no line comes within 5 s, there is no session for a minute', async () => {
  const { connections, session, last } = start();
  await pass(5001);
  expect(last().isOver).toBe(true);
  await pass(59_000);
  expect(connections).toHaveLength(1);
  await pass(21_001);
  expect(connections).toHaveLength(2);
  expect(session.id).toBeUndefined();
});

test('a session whose lines are kept back is resumed as long as leases are tied to it', async () => {
  let isNeeded = true;
  const { connections, last } = start({ isNeeded: () => isNeeded });
  last().line({ session: 's1' });
  await pass(10_001);
  await pass(20_000);
  expect(connections.length).toBeGreaterThanOrEqual(5);
  expect(new Set(connections.slice(1).map(({ body }) => body.session))).toEqual(new Set(['s1']));
  isNeeded = false;
  await pass(6000);
  const count = connections.length;
  await pass(50_000);
  expect(connections).toHaveLength(count);
});

test('a connection that is cut after a while is opened again at once', async () => {
  const { connections, last } = start();
  last().line({ session: 's1' });
  await pass(6000);
  last().end();
  await pass(0);
  expect(connections).toHaveLength(2);
  expect(last().body.session).toBe('s1');
});

test('connections that are cut again and again are opened ever more slowly', async () => {
  const { connections, last } = start();
  const openedWithin = async (ms: number) => {
    const before = connections.length;
    for (let at = 0; at < ms; at += 10) {
      if (!last().isOver) {
        last().line({ session: 's1' });
        last().end();
      }
      await pass(10);
    }
    return connections.length - before;
  };
  await openedWithin(20_000);
  expect(await openedWithin(20_000)).toBeLessThan(60);
});

test('a failure that passes keeps the session, one that does not gives it up for a minute', async () => {
  const { connections, ended, last } = start();
  last().line({ session: 's1' });
  last().fail(refusal(503, 'unavailable'));
  await pass(2000);
  expect(connections).toHaveLength(2);
  expect(last().body.session).toBe('s1');
  last().fail(refusal(403, 'forbidden'));
  await pass(59_000);
  expect(connections).toHaveLength(2);
  await pass(21_001);
  expect(last().body.session).toBeUndefined();
  expect(ended.mock.calls).toEqual([['s1']]);
});

test.each([
  ['a refusal', (one: Connection) => one.fail(refusal(404, 'session_not_found'))],
  ['a line', (one: Connection) => one.line({ lost: 'session_ended' })],
])('a session that has ended, which %s says, is replaced, and the worker is told', async (_, say) => {
  const { connections, ended, last } = start();
  last().line({ session: 's1' });
  await pass(6000);
  last().end();
  await pass(0);
  if (_ === 'a line') last().line({ session: 's1' });
  say(last());
  await pass(100);
  expect(ended.mock.calls).toEqual([['s1']]);
  expect(connections).toHaveLength(3);
  expect(last().body.session).toBeUndefined();
});

test('a session whose key was rotated or revoked is resumed: Dibs says then whether the key may', async () => {
  const { connections, session, last } = start();
  last().line({ session: 's1' });
  await pass(6000);
  last().line({ lost: 'revoked' });
  last().end();
  await pass(0);
  expect(last().body.session).toBe('s1');
  last().line({ session: 's1' });
  expect(session.id).toBe('s1');
  expect(connections).toHaveLength(2);
});

test('a lease whose session has ended is extended each second, until Dibs says that it is lost', () => {
  const job = { id: 'j1', lease_seconds: 3600 } as LeasedJob;
  const run = new Run(job, false, 's1');
  expect(run.extendAt).toBeGreaterThan(performance.now() + 900_000);
  run.doubt();
  expect(run.extendAt).toBe(performance.now());
  run.extended(performance.now());
  expect(run.extendAt).toBe(performance.now() + 1000);
});

test.each(['no JSON\n', '{}\n', 'null\n', '{"session":7}\n', ' '.repeat(20_000)])(
  'an answer that is none of Dibs is no session: %j',
  async (answer) => {
    const { connections, session, last } = start();
    last().line(answer);
    await pass(1);
    expect(last().isOver).toBe(true);
    expect(session.id).toBeUndefined();
    await pass(50_000);
    expect(connections).toHaveLength(1);
  },
);

test('a session that is stopped has hung up, and leaves no timer', async () => {
  const { session, last } = start();
  last().line({ session: 's1' });
  session.stop();
  await pass(0);
  expect(last().isOver).toBe(true);
  expect(session.id).toBeUndefined();
  expect(vi.getTimerCount()).toBe(0);
});

test('a claim whose session has ended is no error: the next one names another session', async () => {
  vi.useRealTimers();
  const dibs = createDibs();
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every kind.
  const claims: any[] = [];
  const client = {
    request(call: Call, options?: CallOptions): Promise<unknown> {
      if (call.path === '/sessions') {
        const answer = dibs.client.request(call, options);
        dibs.last().line({ session: `s${dibs.connections.length}` });
        return answer;
      }
      claims.push(call.body);
      if (claims.length === 1) return Promise.reject(refusal(503, 'unavailable'));
      if (claims.length === 2) return Promise.reject(refusal(404, 'session_not_found'));
      if (claims.at(-1).session === 's2') void worker.stop();
      return sleep(20, { jobs: [] });
    },
  };
  const worker = new Worker(client, { queues: ['mail'] }, () => undefined);
  await worker.run();
  const [first, repeated, next] = claims;
  expect(first.session).toBe('s1');
  expect(repeated).toMatchObject({ session: 's1', claim_id: first.claim_id });
  expect(next.claim_id).not.toBe(first.claim_id);
  expect(next.session).not.toBe('s1');
  expect(claims.some(({ session }) => session === 's2')).toBe(true);
  expect(dibs.connections.every(({ isOver }) => isOver)).toBe(true);
});

test.each([-1, 61, Number.NaN, Number.POSITIVE_INFINITY])(
  'a time to resume of %s s is refused',
  (resumeSeconds) => {
    const { client } = createDibs();
    expect(() => new Worker(client, { queues: ['mail'], resumeSeconds }, () => undefined)).toThrow(
      /resumeSeconds/,
    );
  },
);
