import { type AddressInfo, connect } from 'node:net';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCaller, type Scope } from '../../src/caller.ts';
import { type RunningEngine, startEngine } from '../../src/engine.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from '../support/database.ts';
import { lineServer } from '../support/lineProtocol.ts';
import { textOf } from '../support/sources.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Database;
let engine: RunningEngine;
let server: ReturnType<typeof lineServer>;

const caller = (name: string, scopes: Scope[], queues: string[]) =>
  createCaller({ id: name, name }, { scopes, queues });

beforeAll(async () => {
  database = await createDatabase();
  db = openDatabase(database.url, 10);
  engine = await startEngine({ db, listenUrl: database.url, log: () => undefined });
  const callers = new Map([
    ['secret', caller('worker', ['produce', 'consume'], ['mail', 'mail.*'])],
    ['other', caller('reader', ['read'], ['*'])],
  ]);
  server = lineServer(engine, callers);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
});
afterAll(async () => {
  server.close();
  await engine.stop();
  await db.close();
  await database.drop();
});

/** A connection. `ask` sends a line and returns the line that answers it. */
async function client(key = 'secret') {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const lines = createInterface(socket)[Symbol.asyncIterator]();
  const send = (line: string) => socket.write(`${line}\n`);
  const ask = async (line: string): Promise<string> => {
    send(line);
    return (await lines.next()).value;
  };
  const hello = await ask(`hello ${key}`);
  return { hello, ask, send, hangUp: () => socket.destroy() };
}

const waiting = () => engine.ledger.held().claims ?? 0;

test('a job goes in, is leased to a claim that waits, and is acked', async () => {
  const worker = await client();
  const producer = await client();
  const claimed = worker.ask('claim mail 20');
  await until(() => waiting() === 1);
  const [, id] = (await producer.ask('enqueue mail {"to": 1.0}')).split(' ');
  const [sign, leased, token, ...payload] = (await claimed).split(' ');
  expect([sign, leased, payload.join(' ')]).toEqual(['+', id, '{"to": 1.0}']);
  expect(await worker.ask(`ack ${id} ${token}`)).toBe('+ completed');
  expect(await worker.ask(`ack ${id} ${token}`)).toMatch(/^! job_not_found - /);
  expect(await worker.ask('claim mail 0')).toBe('-');
  for (const { hangUp } of [worker, producer]) hangUp();
});

test('a refusal says which field is wrong, in the words of this protocol', async () => {
  const worker = await client();
  expect(await worker.ask('enqueue-at 2999-01-01T00:00:00Z mail 1')).toBe(
    '! invalid_request run_at /run_at must be within 366 days from now.',
  );
  expect(await worker.ask('dance')).toBe('! invalid_request - There is no command dance.');
  worker.hangUp();
});

test('the guard refuses a caller here, too: without a key, a scope or a queue', async () => {
  const stranger = await client('wrong');
  expect(stranger.hello).toBe('! unauthorized - Nobody has this key.');
  expect(await stranger.ask('enqueue mail 1')).toMatch(/^! forbidden - .*"produce"/);
  const reader = await client('other');
  expect(await reader.ask('claim mail 0')).toMatch(/^! forbidden - .*"consume"/);
  const worker = await client();
  expect(await worker.ask('enqueue bills 1')).toMatch(/^! forbidden - .*"bills"/);
  expect(await worker.ask('enqueue mail.welcome 1')).toMatch(/^\+ /);
  for (const { hangUp } of [stranger, reader, worker]) hangUp();
});

test('a client that hangs up while it waits is given no job', async () => {
  const gone = await client();
  gone.send('claim mail 20');
  await until(() => waiting() === 1);
  gone.hangUp();
  await until(() => waiting() === 0);
  const worker = await client();
  const [, id] = (await worker.ask('enqueue mail 2')).split(' ');
  expect(await worker.ask('claim mail 5')).toContain(`+ ${id} `);
  worker.hangUp();
});

test('it knows the pages of verbs and plain things, and no room', () => {
  const imported = [...textOf('test/support/lineProtocol.ts').matchAll(/from '\.\.\/\.\.\/(src\/[^']+)'/g)];
  expect(imported.map(([, file]) => file)).toEqual([
    'src/caller.ts',
    'src/errors.ts',
    'src/job.ts',
    'src/verbs.ts',
  ]);
});
