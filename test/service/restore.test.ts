import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examine } from '../../src/doctor/examine.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { onServer, urlOf } from '../support/database.ts';
import { binaries, startDebianPostgres } from '../support/debianPostgres.ts';
import { temporaryDirectory } from '../support/postgres.ts';
import { startService } from '../support/service.ts';

/* The commands of docs/operating.md, "Dump and restore". pg_dump must be of the server's version, so both are Debian's. */

const folder = binaries();

describe.skipIf(folder === undefined)('a database that was restored from a dump', () => {
  let directory: Awaited<ReturnType<typeof temporaryDirectory>>;
  let postgres: Awaited<ReturnType<typeof startDebianPostgres>>;
  beforeAll(async () => {
    directory = await temporaryDirectory();
    postgres = await startDebianPostgres(directory.path, folder as string);
  });
  afterAll(async () => {
    await postgres?.stop();
    await directory.remove();
  });

  test('goes on: what was done since comes back, a lease of then still settles, and what came since is missing', async () => {
    const dump = join(directory.path, 'dibs.dump');
    await onServer(postgres.url, 'create role dibs_owner');
    await onServer(postgres.url, 'create database dibs owner dibs_owner');
    const url = urlOf(postgres.url, 'dibs');
    await migrate(url);
    const before = await startService({ databaseUrl: url, asOwner: true });
    const enqueue = async (service: typeof before, payload: string) =>
      (await service.call('POST', '/jobs', `{"queue":"mail","payload":${payload}}`)).body.id as string;
    for (const payload of ['1.0', '1e400', '{"a":1,"a":2}']) await enqueue(before, payload);
    await before.call('PUT', '/schedules/nightly', { cron: '0 3 * * *', job: { queue: 'tick' } });
    const claim = { queues: ['mail'], lease_seconds: 3600, payload_format: 'text' };
    const [leased] = (await before.call('POST', '/jobs/claim', claim)).body.jobs;

    const options = ['--format=custom', '--no-owner', '--no-privileges', '--schema=dibs'];
    postgres.run('pg_dump', ...options, `--file=${dump}`, url);
    const { lease_token } = leased;
    expect((await before.call('POST', `/jobs/${leased.id}/ack`, { lease_token })).status).toBe(200);
    const since = await enqueue(before, '"since"');
    await before.stop();

    await onServer(postgres.url, 'create database restored owner dibs_owner');
    const restored = urlOf(postgres.url, 'restored');
    postgres.run(
      'pg_restore',
      '--no-owner',
      '--role=dibs_owner',
      `--dbname=${restored}`,
      '--exit-on-error',
      dump,
    );
    expect(await migrate(restored)).toEqual([]);
    const findings = await examine({ url: restored, poolSize: 10, isEmbedded: true });
    // The test's server has fsync off.
    expect(findings.filter(({ level }) => level !== 'ok').map(({ check }) => check)).toEqual(['fsync']);

    const after = await startService({ databaseUrl: restored, asOwner: true });
    expect((await after.call('GET', `/jobs/${since}`)).status).toBe(404);
    expect((await after.call('GET', `/jobs/${leased.id}`)).body).toMatchObject({
      state: 'leased',
      deliveries: 1,
    });
    expect((await after.call('POST', `/jobs/${leased.id}/ack`, { lease_token })).status).toBe(200);
    await enqueue(after, '4');
    const { jobs } = (await after.call('POST', '/jobs/claim', { ...claim, limit: 10 })).body;
    expect(jobs.map((job: { payload_text: string }) => job.payload_text)).toEqual([
      '1e400',
      '{"a":1,"a":2}',
      '4',
    ]);
    expect((await after.call('GET', '/schedules/nightly')).body.next_run_at).toMatch(/T03:00:00/);
    expect(after.errors).toEqual([]);
    await after.stop();
  });
});
