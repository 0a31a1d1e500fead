import { pino } from 'pino';
import { expect, test } from 'vitest';
import { buildApp } from '../../routes/app.ts';
import type { Engine } from '../../src/engine.ts';
import { unavailable } from '../../src/errors.ts';

test.each([
  [500, new Error('a bug')],
  [503, unavailable()],
])('the log line about a %d has the request id of its answer', async (status, error) => {
  const lines: { reqId?: string; level: number }[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const engine = { isReady: () => Promise.reject(error) } as unknown as Engine;
  const app = await buildApp({ engine, logger, maxPayloadBytes: 1 });
  const answer = await app.inject('/readyz');
  expect(answer.statusCode).toBe(status);
  const [line] = lines.filter(({ level }) => level >= 40);
  expect(line?.reqId).toBe(answer.headers['x-request-id']);
  expect(line?.reqId).toBeDefined();
  await app.close();
});
