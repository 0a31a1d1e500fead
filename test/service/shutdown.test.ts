import { type ChildProcess, spawn } from 'node:child_process';
import { connect, Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { serve } from '../../serve.ts';
import { readConfig } from '../../src/config.ts';
import { client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { filledDataDir, postgresPids, signalAll, temporaryDirectory } from '../support/postgres.ts';
import { claimAndHangUp } from '../support/rawClaim.ts';
import { http, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

/** 10 s are promised. The rest is for a busy machine. */
const ENDED_MS = 15_000;
/** The service logs this when it stops waiting, for example for idle connections. */
const GAVE_UP = 'the shutdown took longer';

describe('SIGTERM', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    database = await createDatabase();
  });
  afterAll(() => database.drop());

  const start = () => startReplica({ DATABASE_URL: database.url });

  test('answers the waiting claims, takes no new connections, and ends with 0', async () => {
    const replica = await start();
    const silent = connect(Number(new URL(replica.url).port), '127.0.0.1');
    silent.on('error', () => undefined);
    const claims = Array.from({ length: 5 }, () => client(replica.url).claim('idle', { wait_seconds: 60 }));
    const metrics = async () => (await fetch(`${replica.url}/metrics`)).text();
    await until(async () => (await metrics()).includes('\ndibs_claims_waiting 5\n'));
    const asked = performance.now();
    const ended = replica.end('SIGTERM');
    expect(await Promise.all(claims)).toEqual([[], [], [], [], []]);
    expect(await ended).toBe(0);
    expect(performance.now() - asked).toBeLessThan(ENDED_MS);
    await expect(fetch(`${replica.url}/healthz`)).rejects.toThrow();
    expect(replica.lines.join('\n')).not.toContain(GAVE_UP);
    silent.destroy();
  });

  test('ends a service that is just about to listen', async () => {
    const stop = new AbortController();
    const { listen } = Server.prototype;
    const spy = vi.spyOn(Server.prototype, 'listen').mockImplementation(function (this: Server, ...args) {
      stop.abort();
      return Reflect.apply(listen, this, args);
    });
    const config = readConfig({ DATABASE_URL: database.url, PORT: '0' });
    await serve(config, pino({ level: 'silent' }), stop.signal).finally(() => spy.mockRestore());
    expect(stop.signal.aborted).toBe(true);
  });

  test('finishes the running requests: every answer is whole, and every answered job is there', async () => {
    const replica = await start();
    const answered: string[] = [];
    const unexpected: string[] = [];
    const clients = Array.from({ length: 16 }, async () => {
      for (;;) {
        const jobs = Array.from({ length: 50 }, () => ({ queue: 'flight' }));
        const answer = await http(replica.url, 'POST', '/jobs/batch', { jobs }).catch((error) => error);
        if (answer instanceof Error) {
          // The connection may be refused, or closed before the request is read, but never in the middle of an answer.
          if (/terminated|aborted/.test(answer.message)) unexpected.push(answer.message);
          return;
        }
        if (answer.status === 201) answered.push(...answer.body.jobs.map((job: { id: string }) => job.id));
        else unexpected.push(`${answer.status}: ${answer.text}`);
      }
    });
    await until(() => answered.length > 1000);
    expect(await replica.end('SIGTERM')).toBe(0);
    expect(replica.lines.join('\n')).not.toContain(GAVE_UP);
    await Promise.all(clients);
    expect(unexpected).toEqual([]);

    const next = await start();
    const found = new Set<string>();
    for (;;) {
      const jobs = await client(next.url).claim('flight', { limit: 1000 });
      if (jobs.length === 0) break;
      for (const job of jobs) found.add(job.id);
    }
    expect(answered.filter((id) => !found.has(id))).toEqual([]);
    expect(await next.end('SIGTERM')).toBe(0);
  });

  test('leaves no job with a consumer that hung up while the service ended', async () => {
    const replica = await start();
    await client(replica.url).ok('POST', '/jobs/batch', {
      jobs: Array.from({ length: 200 }, () => ({ queue: 'parting' })),
    });
    const claim = { queues: ['parting'], limit: 2, lease_seconds: 600 };
    const claims = Array.from({ length: 60 }, () =>
      claimAndHangUp(replica.url, claim, Math.round(Math.random() * 30)),
    );
    await sleep(Math.random() * 20);
    expect(await replica.end('SIGTERM')).toBe(0);
    const theirs = (await Promise.all(claims)).flat();
    const next = await start();
    const rest = await client(next.url).claim('parting', { limit: 1000 });
    expect(theirs.length + rest.length).toBe(200);
    await next.end('SIGKILL');
  });
});

describe('npm start with a PostgreSQL of its own', () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let npm: ChildProcess;
  let said: string;
  afterEach(async () => {
    if (groupLives()) process.kill(-(npm.pid as number), 'SIGKILL');
    signalAll(postgresPids(directory.path), 'SIGKILL');
    await until(() => postgresPids(directory.path).length === 0);
    await directory.remove();
  });

  /** Starts as the README says, but without the build: other tests are using dist/. */
  async function start(dataDir = filledDataDir): Promise<void> {
    directory = await dataDir();
    const { DATABASE_URL: _, ...env } = process.env;
    npm = spawn('npm', ['start', '--ignore-scripts'], {
      env: { ...env, PORT: '0', DATA_DIR: directory.path },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    said = '';
    for (const stream of [npm.stdout, npm.stderr])
      stream?.on('data', (chunk) => {
        said += chunk;
      });
  }

  const isReady = () => until(() => /Dibs .* is ready/.test(said), { what: 'service' });

  /** Whether any process of npm's group lives. PostgreSQL has its own group. */
  function groupLives(): boolean {
    try {
      process.kill(-(npm.pid as number), 0);
      return true;
    } catch {
      return false;
    }
  }

  async function endsAll(): Promise<void> {
    const asked = performance.now();
    await until(() => !groupLives(), { what: 'the end of the service' });
    await until(() => postgresPids(directory.path).length === 0, { what: 'the end of PostgreSQL' });
    expect(performance.now() - asked).toBeLessThan(ENDED_MS);
  }

  test('SIGTERM stops the service and its PostgreSQL', async () => {
    await start();
    await isReady();
    expect(postgresPids(directory.path).length).toBeGreaterThan(1);
    npm.kill('SIGTERM');
    await endsAll();
  });

  test('Ctrl-C, which reaches every process of the terminal, stops them too', async () => {
    await start();
    await isReady();
    process.kill(-(npm.pid as number), 'SIGINT');
    await endsAll();
  });

  test.each([700, 1500, 2500])(
    'SIGTERM %i ms after the start ends it and leaves nothing running',
    async (ms) => {
      // PostgreSQL may not even be created by then.
      await start(temporaryDirectory);
      await sleep(ms);
      npm.kill('SIGTERM');
      await endsAll();
    },
  );
});
