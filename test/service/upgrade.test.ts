import { afterAll, beforeAll, expect, test } from 'vitest';
import { latest, migrations as migrationsOfThis } from '../../src/postgres/migrations.ts';
import { createDatabase, createEmptyDatabase, onServer } from '../support/database.ts';
import { runMixed } from '../support/mixed/run.ts';
import { storiesOf } from '../support/mixed/story.ts';
import { buildAt, commitBeforeNewestMigration, newerDibs } from '../support/oldDibs.ts';
import { ended, http, startReplica } from '../support/replica.ts';
import { startService } from '../support/service.ts';

const SECONDS = 12;
const commit = commitBeforeNewestMigration();
let old: ReturnType<typeof buildAt>;
beforeAll(() => {
  if (commit) old = buildAt(commit);
});
afterAll(() => old?.remove());

test.skipIf(!commit)(
  'old and new replicas serve side by side over the newest migration: nothing is lost, doubled or out of order',
  async () => {
    const database = await createEmptyDatabase();
    try {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const began = Date.now();
      const { violations, record, complaints } = await runMixed(database.url, seed, SECONDS, old.folder);
      const stories = storiesOf(violations, record.lives, began).map((life) => JSON.stringify(life));
      const summary = { seed, commit, complaints: complaints.slice(0, 20), stories };
      expect(violations, JSON.stringify(summary, null, 2)).toEqual([]);
    } finally {
      await database.drop();
    }
  },
  (SECONDS + 480) * 1000,
);

const migrated = (url: string) =>
  onServer<{ version: number; functions: string }>(
    url,
    `select max(version) as version, (select string_agg(checksum, ' ' order by name) from dibs.functions) as functions
     from dibs.migrations`,
  );

test.skipIf(!commit)(
  'a replica of the version before starts on the newest schema, if that says so, and changes nothing',
  async ({ skip }) => {
    const database = await createDatabase();
    try {
      const { latest: known, migrations } = await import(
        `${old.folder}/dist/src/postgres/migrations.js`
      ).catch(() => ({}));
      if (known === undefined) skip('the version before never starts on a newer schema');
      expect(migrations.length).toBeGreaterThan(20);
      const needed = Math.max(...migrationsOfThis.map(({ version, oldest }) => oldest ?? version));
      const before = await migrated(database.url);
      if (needed > known) {
        const { code, said } = await ended({ DATABASE_URL: database.url }, 'serve', old.folder);
        expect(code).toBe(1);
        expect(said).toMatch(/^dibs: The database is at migration \d+\. It needs a Dibs that knows .*\n$/);
      } else {
        const replica = await startReplica({ DATABASE_URL: database.url }, old.folder);
        expect((await http(replica.url, 'POST', '/jobs', { queue: 'q' })).status).toBe(201);
        await replica.end('SIGTERM');
      }
      expect(await migrated(database.url)).toEqual(before);
    } finally {
      await database.drop();
    }
  },
);

test(
  'a rollback under load: each replica of a newer version is replaced by one of this version, on the newer schema',
  async () => {
    const newer = newerDibs(`-- oldest: ${latest}\nalter table dibs.jobs add column newer text;`);
    const database = await createEmptyDatabase();
    try {
      const seed = Math.floor(Math.random() * 2 ** 31);
      const { violations, record } = await runMixed(database.url, seed, SECONDS / 2, newer.folder);
      expect(violations, String(seed)).toEqual([]);
      expect(record.tally.get('replicas ended by SIGKILL')).toBeGreaterThan(0);
      expect((await migrated(database.url))[0]?.version).toBe(9999);
    } finally {
      await database.drop();
      newer.remove();
    }
  },
  (SECONDS + 480) * 1000,
);

test('`dibs migrate` of an older version leaves a newer schema and its functions as they are', async () => {
  const database = await createDatabase();
  await onServer(
    database.url,
    `insert into dibs.migrations (version, name, oldest) values (9999, 'newer', ${latest})`,
  );
  await onServer(database.url, `update dibs.functions set checksum = 'newer'`);
  const before = await migrated(database.url);
  expect(await ended({ DATABASE_URL: database.url }, 'migrate')).toMatchObject({ code: 0 });
  expect(await migrated(database.url)).toEqual(before);
  await database.drop();
});

test('a replica does not start on a schema that needs a newer Dibs, and says which', async () => {
  const database = await createDatabase();
  await onServer(
    database.url,
    `insert into dibs.migrations (version, name, oldest) values (9999, 'newer', 9998)`,
  );
  expect(await ended({ DATABASE_URL: database.url })).toEqual({
    code: 1,
    said: `dibs: The database is at migration 9999. It needs a Dibs that knows 9998, and this one knows only ${latest}. Run a newer Dibs.\n`,
  });
  await database.drop();
});

test('a schema of a Dibs that did not note the oldest is migrated', async () => {
  const database = await createDatabase();
  await onServer(database.url, 'alter table dibs.migrations drop column oldest');
  const replica = await startReplica({ DATABASE_URL: database.url });
  expect((await http(replica.url, 'GET', '/readyz')).status).toBe(200);
  await replica.end('SIGTERM');
  expect(await onServer(database.url, 'select count(oldest) from dibs.migrations')).toEqual([{ count: '0' }]);
  await database.drop();
});

test('a replica stays ready when a newer one has migrated the database', async () => {
  const service = await startService();
  await onServer(service.databaseUrl, `insert into dibs.migrations (version, name) values (9999, 'newer')`);
  await expect.poll(async () => (await service.call('GET', '/readyz')).status).toBe(200);
  expect((await service.call('POST', '/jobs', {})).status).toBe(201);
  await service.stop();
});
