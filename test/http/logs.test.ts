import { pino } from 'pino';
import { expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import type { Engine } from '../../src/engine.ts';
import { unavailable } from '../../src/errors.ts';
import { createMemory } from '../../src/memory.ts';

/** The answer of a call that fails with this error, and the lines that it leaves in the log. */
async function failing(error: Error) {
  const lines: { reqId?: string; level: number }[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const engine = { memory: createMemory(), whyNotReady: () => Promise.reject(error) } as unknown as Engine;
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

test('a 503 leaves no line: the database is away for many calls, and its state is logged once', async () => {
  const { answer, lines } = await failing(unavailable());
  expect(answer.statusCode).toBe(503);
  expect(lines).toEqual([]);
});
