import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DUE_KINDS, type DueKind } from '../../bench/lib/dueKinds.mjs';
import { namedUrl, watchLooks } from '../../bench/lib/looks.mjs';
import { createDatabase, openClient } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

const KINDS = Object.entries(DUE_KINDS);
/** All replicas doze by then, and they sleep a moment later. */
const DOZE_MS = 12_000;
const FIRST_MS = DOZE_MS + 6000;
const APART_MS = 4000;
/** This long before something is due, the replica is killed that would have looked. */
const KILLED_MS = 100;

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Awaited<ReturnType<typeof openClient>>;
let looks: Awaited<ReturnType<typeof watchLooks>>;
const replicas = new Map<string, Replica>();
const made: { name: string; isDone: string; id: string; due: number }[] = [];

async function make(name: string, { make, isDone }: DueKind, at: Date): Promise<void> {
  const [{ url }] = [...replicas.values()] as [Replica];
  const answers = {
    post: (path: string, body: object) => http(url, 'POST', path, body),
    json: (method: string, path: string, body: object) => http(url, method, path, body),
  };
  const { id, due } = await make({ http: answers, db, queue: name.replaceAll(' ', '-'), at });
  made.push({ name, isDone, id, due: Date.parse(due) });
}

beforeAll(async () => {
  database = await createDatabase();
  db = await openClient(database.url);
  looks = await watchLooks(database.url);
  const node: [string, ...string[]] = [process.execPath, '--import', './test/support/laterClock.mjs'];
  // One is left when one was killed for each kind.
  for (let i = 0; i <= KINDS.length; i++) {
    const env = { DATABASE_URL: namedUrl(database.url, `replica ${i}`) };
    replicas.set(`replica ${i}`, await startReplica(env, '.', node));
  }
  const first = Math.ceil(Date.now() / 1000) * 1000 + FIRST_MS;
  for (const [i, [name, kind]] of KINDS.entries()) await make(name, kind, new Date(first + i * APART_MS));
  await sleep(DOZE_MS);
  // Five minutes pass: nobody has asked for so long. Who sleeps knows only what it was told, and looks for nothing else.
  for (const { pid } of replicas.values()) process.kill(pid, 'SIGUSR2');
});
afterAll(async () => {
  for (const replica of replicas.values()) await replica.end('SIGKILL');
  await looks.close();
  await db.end();
  await database.drop();
});

test.for(KINDS.map(([name]) => name))(
  '%s: it is done though all replicas sleep, and the one is killed that would have looked',
  async (name) => {
    const { isDone, id, due } = made.find((one) => one.name === name) as (typeof made)[number];
    await sleep(due - KILLED_MS - Date.now());
    const looker = looks.last() as string;
    const replica = replicas.get(looker);
    expect(replica).toBeDefined();
    replicas.delete(looker);
    await replica?.end('SIGKILL');
    await until(async () => (await db.query(`select ${isDone} as done`, [id])).rows[0].done);
  },
);
