import { pino } from 'pino';
import { expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import type { RunningEngine } from '../../src/engine.ts';
import { unavailable } from '../../src/errors.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';
import { startService } from '../support/service.ts';

/** The answer of a call that fails with this error, and the lines that it leaves in the log. */
async function failing(error: Error) {
  const lines: { reqId?: string; level: number }[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const engine = {
    memory: createMemory(),
    ledger: createLedger(),
    readiness: () => Promise.reject(error),
  } as unknown as RunningEngine;
  const app = await buildApp({ engine, logger, maxPayloadBytes: 1 });
  const answer = await app.inject('/readyz');
  await app.close();
  return { answer, lines };
}

test('the log line about a 500 has the request id of its answer', async () => {
  const { answer, lines } = await failing(new Error('a bug'));
  expect(answer.statusCode).toBe(500);
  const [line] = lines.filter(({ level }) => level >= 40);
  expect(line?.reqId).toBe(answer.headers['x-request-id']);
  expect(line?.reqId).toBeDefined();
});

test('an X-Request-Id that is sent in is used, if it is 1 to 128 printable characters', async () => {
  const app = await buildApp({
    engine: { ledger: createLedger() } as RunningEngine,
    logger: pino({ level: 'silent' }),
    maxPayloadBytes: 1,
  });
  const idFor = async (sent: string) =>
    (await app.inject({ url: '/nothing', headers: { 'x-request-id': sent } })).headers['x-request-id'];
  for (const good of ['r1', 'a b', 'a'.repeat(128)]) expect(await idFor(good)).toBe(good);
  for (const bad of ['a'.repeat(129), 'nonsens\u00e9', '', ' '])
    expect(await idFor(bad)).toMatch(/^[0-9a-f-]{36}$/);
  await app.close();
});

test('a 503 leaves no line: the database is away for many calls, and its state is logged once', async () => {
  const { answer, lines } = await failing(unavailable());
  expect(answer.statusCode).toBe(503);
  expect(lines).toEqual([]);
});

test('the line about a refused credential names the request and its trace', async () => {
  const service = await startService({ auth: 'keys' });
  try {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01`, 'x-request-id': 'r1' };
    for (const authorization of ['Bearer dibs_wrong', 'Bearer x.y.z', 'Basic x'])
      await service.call('GET', '/jobs', undefined, { ...headers, authorization });
    expect(service.refused).toHaveLength(3);
    for (const line of service.refused) expect(line).toMatchObject({ reqId: 'r1', traceId });
  } finally {
    await service.stop();
  }
});
