import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { unreliablePostgres } from '../support/postgres.ts';
import { http } from '../support/replica.ts';
import { until } from '../support/until.ts';

let postgres: Awaited<ReturnType<typeof unreliablePostgres>>;
beforeAll(async () => {
  postgres = await unreliablePostgres();
});
afterAll(() => postgres.remove());

/** Starts `dibs serve`, and returns as soon as it listens. */
async function starting() {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const env = { ...inherited, PORT: '0', DATABASE_URL: postgres.url };
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const url = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      const found = /is starting at (http:\S+?)"/.exec(line);
      if (found) resolve(found[1] as string);
    });
  });
  return { child, lines, url };
}

test('while the database is away at the start, Dibs lives, says why it does not serve, and serves when it comes', async () => {
  await postgres.stop();
  const { child, lines, url } = await starting();
  await until(() => lines.some((line) => line.includes('the database cannot serve')));
  expect(await http(url, 'GET', '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  const detail = 'Dibs is starting, and its database does not serve yet (ECONNREFUSED). The log says more.';
  for (const [method, path, body] of [
    ['GET', '/readyz'],
    ['GET', '/metrics'],
    ['GET', '/nowhere'],
    ['POST', '/jobs', { queue: 'q', payload: 'x'.repeat(100_000) }],
    ['POST', '/healthz'],
  ] as const) {
    const answer = await http(url, method, path, body);
    expect(answer, path).toMatchObject({ status: 503, body: { code: 'unavailable', detail } });
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  }

  // From now on somebody asks all the time. Nobody is ever refused a connection.
  const seen: unknown[] = [];
  let isReady = false;
  const asking = (async () => {
    while (!isReady) {
      const { status } = await http(url, 'GET', '/healthz').catch((error) => ({ status: error.cause }));
      if (status !== 200) seen.push(status);
    }
  })();
  await postgres.start();
  await until(async () => (await http(url, 'GET', '/readyz')).status === 200);
  await sleep(100);
  isReady = true;
  await asking;
  expect(seen).toEqual([]);
  expect((await http(url, 'POST', '/jobs', { queue: 'q' })).status).toBe(201);
  expect(lines.some((line) => line.includes(`is ready at ${url}`))).toBe(true);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a start that waits for its database ends at once when it is told to', async () => {
  await postgres.stop();
  const { child } = await starting();
  await sleep(300);
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  await postgres.start();
});
