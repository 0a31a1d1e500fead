import { afterAll, beforeAll, expect, test } from 'vitest';
import { client } from '../support/client.ts';
import { createDatabase } from '../support/database.ts';
import { rawClient } from '../support/rawClient.ts';
import { http, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('for DRAIN_SECONDS after SIGTERM, /readyz is 503 while everything is served on new connections; then it ends with 0', async () => {
  const replica = await startReplica({ DATABASE_URL: database.url, DRAIN_SECONDS: '6' });
  expect((await http(replica.url, 'GET', '/readyz')).status).toBe(200);
  const claim = client(replica.url).claim('late', { wait_seconds: 60 });
  const asked = performance.now();
  const ended = replica.end('SIGTERM');
  const notReady = await until(
    async () => {
      const answer = await http(replica.url, 'GET', '/readyz');
      return answer.status === 503 ? answer : undefined;
    },
    { what: 'a /readyz of 503' },
  );
  expect(notReady.body).toMatchObject({ code: 'unavailable', detail: 'This replica is stopping.' });
  expect((await http(replica.url, 'GET', '/healthz')).status).toBe(200);

  // A keep-alive client is told to connect anew: elsewhere, behind a balancer.
  const { host } = new URL(replica.url);
  const request = `POST /jobs HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n`;
  const fresh = rawClient(replica.url, `${request}{"queue":"late"}`);
  await fresh.closed;
  expect(fresh.answer).toMatch(/^HTTP\/1\.1 201 /);
  expect(fresh.answer).toMatch(/^connection: close\r$/im);
  // A claim that waits still gets jobs.
  expect((await claim).length).toBe(1);

  const idle = client(replica.url).claim('idle', { wait_seconds: 60 });
  expect(await idle).toEqual([]);
  expect(performance.now() - asked).toBeGreaterThan(5900);
  expect(await ended).toBe(0);
  expect(replica.lines.join('\n')).toContain('draining for 6 s');
});

test('without DRAIN_SECONDS, a replica ends at once', async () => {
  const replica = await startReplica({ DATABASE_URL: database.url });
  expect(await replica.end('SIGTERM')).toBe(0);
  expect(replica.lines.join('\n')).not.toContain('draining');
});
