import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, onServer } from '../support/database.ts';
import { moves } from '../support/moves.ts';
import { type Service, startService } from '../support/service.ts';
import { type HeldSession, holdSession, isLost } from '../support/sessions.ts';
import { until } from '../support/until.ts';

const MANY = 400;

let database: Awaited<ReturnType<typeof createDatabase>>;
let service: Service;
let url: string;
let at: ReturnType<typeof moves>;
/** What the replica has sent of sessions: the statement, and how many it named in it. */
let sent: { file: string; connections: string[] }[] = [];
beforeAll(async () => {
  database = await createDatabase();
  service = await startService({ databaseUrl: database.url, limits: { maxConnections: 5000 } });
  url = await service.listen();
  at = moves(service);
  const { query } = service.db;
  service.db.query = (statement, parameters, ...rest) => {
    const { connections = [] } = (parameters ?? {}) as { connections?: string[] };
    if (statement.file?.startsWith('sessions/')) sent.push({ file: statement.file, connections });
    return query(statement, parameters, ...rest);
  };
});
afterAll(async () => {
  await service.stop();
  await database.drop();
});

const named = (file: string) => sent.flatMap((one) => (one.file === file ? one.connections : []));

test('many sessions are resumed at once, and their clients hang up at once: each end is told once, and all jobs are back soon', async () => {
  await at.ok('POST', '/jobs/batch', { jobs: Array.from({ length: MANY }, () => ({ queue: 'many' })) });
  const all = (hold: (n: number) => Promise<HeldSession>) =>
    Promise.all(Array.from({ length: MANY }, (_, n) => hold(n)));
  const opened = await all(() => holdSession(url, { resume_seconds: 1 }));
  for (const { id } of opened) await at.claimOne('many', { session: id, lease_seconds: 3600 });
  sent = [];
  const resumed = await all((n) => holdSession(url, { session: opened[n]?.id }));
  await Promise.all(opened.map((session) => isLost(session, 'resumed')));
  for (const session of resumed) session.hangUp();
  const jobs: unknown[] = [];
  await until(async () => {
    jobs.push(...(await at.claim('many', { limit: 1000 })));
    return jobs.length === MANY;
  });
  await until(async () => (await onServer(database.url, 'select from dibs.sessions')).length === 0);
  const gone = named('sessions/let_go');
  expect(gone).toHaveLength(MANY);
  expect(new Set(gone).size).toBe(MANY);
  // A resume costs the same, however many sessions there are: none sends the list of all of them.
  const times = (file: string) => sent.filter((one) => one.file === file).length;
  expect(times('sessions/keep')).toBeLessThanOrEqual(times('sessions/renew') + 1);
  expect(service.errors).toEqual([]);
}, 120_000);

test('of those who resume one session at once, each gets its own answer, and the last one holds it', async () => {
  const first = await holdSession(url, { resume_seconds: 1 });
  const other = await holdSession(url, { resume_seconds: 2 });
  const all = await Promise.all([
    holdSession(url, { session: first.id, resume_seconds: 7 }),
    holdSession(url, { session: other.id }),
    holdSession(url, { session: first.id }),
    holdSession(url, { session: '00000000-0000-4000-8000-000000000000' }).catch(String),
  ]);
  const [, ofOther, , unknown] = all as HeldSession[];
  expect(ofOther?.lines[0]).toEqual({ session: other.id, resume_seconds: 2 });
  expect(unknown).toContain('session_not_found');
  const ofFirst = [all[0], all[2]] as HeldSession[];
  // Requests over several connections come in any order.
  for (const { lines } of ofFirst) expect(lines[0]).toMatchObject({ session: first.id });
  await isLost(first, 'resumed');
  await isLost(other, 'resumed');
  await until(() => ofFirst.filter((one) => !one.isOver()).length === 1);
  expect(ofOther?.isOver()).toBe(false);
  for (const session of [...ofFirst, ofOther as HeldSession]) session.hangUp();
});

test('sessions that are opened at once share a statement, and so do those that are resumed at once', async () => {
  const { engine } = service;
  sent = [];
  const opened = await Promise.all(Array.from({ length: 100 }, () => engine.holdSession({})));
  expect(named('sessions/open')).toHaveLength(100);
  const resumed = await Promise.all(opened.map(({ session }) => engine.holdSession({ session })));
  expect(named('sessions/resume')).toHaveLength(100);
  expect(sent.filter(({ file }) => /open|resume/.test(file))).toHaveLength(2);
  expect(await Promise.all(opened.map(({ lost }) => lost))).toEqual(opened.map(() => 'resumed'));
  for (const session of resumed) session.letGo('hung_up');
});

test('sessions that are held cost a replica one statement a second, however many they are', async () => {
  const { engine } = service;
  const held = await Promise.all(Array.from({ length: MANY }, () => engine.holdSession({})));
  const there = () => onServer(database.url, 'select from dibs.sessions');
  await until(async () => (await there()).length === MANY, {
    what: 'the sessions of other tests have ended',
  });
  await sleep(1500);
  sent = [];
  await sleep(5000);
  expect(sent.map(({ file }) => file)).toContain('sessions/renew');
  expect(sent.length).toBeLessThanOrEqual(6);
  for (const session of held) session.letGo('hung_up');
});
