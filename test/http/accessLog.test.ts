import { pino } from 'pino';
import { expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import { createCaller } from '../../src/caller.ts';
import type { RunningEngine } from '../../src/engine.ts';
import { createLedger } from '../../src/ledger.ts';
import { createMemory } from '../../src/memory.ts';

const caller = createCaller({ id: 'k1', name: 'billing' }, { scopes: ['read'], queues: ['*'] });

/** The lines that a request leaves in the log. */
async function linesOf(accessLog: boolean, url: string, headers: Record<string, string> = {}) {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const engine = {
    memory: createMemory(),
    ledger: createLedger(),
    readiness: async () => ({ notReady: [] }),
    admit: () => ({ listJobs: async () => [] }),
  } as unknown as RunningEngine;
  const access = {
    isOpen: () => false,
    awaitsFirstKey: () => false,
    identify: () => caller,
    known: () => caller,
  };
  const app = await buildApp({ engine, logger, maxPayloadBytes: 1, accessLog, access });
  const answer = await app.inject({ url, headers });
  await app.close();
  return { lines, answer };
}

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

test('ACCESS_LOG=on leaves one line for each request, with the pattern of its route and the id of its trace', async () => {
  const { lines, answer } = await linesOf(true, '/healthz', {
    traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
  });
  expect(answer.statusCode).toBe(200);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({
    level: 30,
    msg: 'request',
    method: 'GET',
    route: 'GET /healthz',
    status: 200,
    bytes: answer.body.length,
    traceId: TRACE,
  });
  expect(lines[0]?.ms).toBeGreaterThanOrEqual(0);
  expect(lines[0]?.reqId).toMatch(/^[0-9a-f-]{36}$/);
});

test('it has the request id that the problem document is sent with', async () => {
  const { lines, answer } = await linesOf(true, '/nothing');
  expect(lines.map(({ reqId, status }) => ({ reqId, status }))).toEqual([
    { reqId: answer.headers['x-request-id'], status: 404 },
  ]);
});

test('it names the caller, and nothing secret: no key, no path, no query', async () => {
  const secret = 'dibs_secret';
  const { lines } = await linesOf(true, `/jobs?unique_key=${secret}`, { authorization: `Bearer ${secret}` });
  expect(lines.filter(({ msg }) => msg === 'request')).toMatchObject([
    { caller: 'billing', route: 'GET /jobs' },
  ]);
  expect(JSON.stringify(lines)).not.toContain('secret');
});

test('a traceparent that is none is left out', async () => {
  const { lines } = await linesOf(true, '/healthz', { traceparent: 'nonsense' });
  expect(lines[0]).not.toHaveProperty('traceId');
});

test('without it, a request leaves no line', async () => {
  expect((await linesOf(false, '/healthz')).lines).toEqual([]);
});
