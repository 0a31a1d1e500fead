import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../bench/lib/ports.mjs';
import { createDatabase } from '../support/database.ts';
import { http, type Replica, startReplica } from '../support/replica.ts';
import { until } from '../support/until.ts';

describe('METRICS_PORT', () => {
  let database: Awaited<ReturnType<typeof createDatabase>>;
  let replica: Replica;
  let probes: string;
  beforeAll(async () => {
    database = await createDatabase();
    const METRICS_PORT = String(await freePort());
    probes = `http://127.0.0.1:${METRICS_PORT}`;
    replica = await startReplica({
      DATABASE_URL: database.url,
      METRICS_PORT,
      AUTH: 'keys',
      DRAIN_SECONDS: '5',
    });
  });
  afterAll(async () => {
    await replica?.end('SIGKILL');
    await database.drop();
  });

  test('tells the metrics and answers probes without a key, though the API needs one', async () => {
    expect((await http(replica.url, 'GET', '/metrics')).status).toBe(401);
    for (const path of ['/metrics', '/healthz', '/readyz'])
      expect((await fetch(probes + path)).status, path).toBe(200);
  });

  test('tells of the requests to the API, and counts none of its own', async () => {
    const told = async () => (await fetch(`${probes}/metrics`)).text();
    await http(replica.url, 'GET', '/jobs');
    await told();
    const text = await told();
    expect(text).toMatch(/^dibs_http_requests_total\{route="GET \/jobs",status="401"\} 1$/m);
    expect(text).not.toContain('route="GET /readyz"');
    expect(text).toMatch(/^dibs_database_up 1$/m);
  });

  test('has nothing else: no job, no page, no document', async () => {
    for (const [method, path] of [
      ['GET', '/queues'],
      ['POST', '/jobs'],
      ['GET', '/'],
      ['GET', '/docs'],
      ['GET', '/openapi.json'],
    ] as const)
      expect((await http(probes, method, path)).body, path).toMatchObject({ code: 'route_not_found' });
  });

  test('is 503 at /readyz while the replica stops, and answers to the end', async () => {
    const ended = replica.end('SIGTERM');
    await until(async () => (await http(probes, 'GET', '/readyz')).status === 503);
    expect((await http(probes, 'GET', '/healthz')).status).toBe(200);
    expect(await ended).toBe(0);
    await expect(http(probes, 'GET', '/healthz')).rejects.toThrow();
  });

  test('that is in use stops the start, with a line that names it', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const started = startReplica({ DATABASE_URL: database.url, METRICS_PORT: String(port) });
    await expect(started).rejects.toThrow(`Dibs cannot listen on HOST=127.0.0.1 METRICS_PORT=${port}`);
    other.close();
    await once(other, 'close');
  });
});
