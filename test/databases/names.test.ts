import { expect, test } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { createEmptyDatabase, onServer, SERVING_ROLE, urlOf } from '../support/database.ts';
import { startService } from '../support/service.ts';

/** A database whose locale sorts `a` before `B`, and `a-z` before `ab`. PostgreSQL 14 has none by ICU. */
async function inEnglish() {
  const { url, drop } = await createEmptyDatabase();
  const [server] = await onServer<{ is_new: boolean }>(
    url,
    "select current_setting('server_version_num')::integer >= 150000 as is_new",
  );
  if (!server?.is_new) return { url, drop };
  const name = `${new URL(url).pathname.slice(1)}_en`;
  await onServer(
    url,
    `create database ${name} encoding 'UTF8' locale 'C' locale_provider icu icu_locale 'en' template template0`,
  );
  return {
    url: urlOf(url, name),
    async drop() {
      await onServer(url, `drop database ${name} with (force)`);
      await drop();
    },
  };
}

test('queues are listed by the bytes of their names, whatever the locale of the database', async () => {
  const { url, drop } = await inEnglish();
  await migrate(url, { serve: [SERVING_ROLE], produce: [] });
  const service = await startService({ databaseUrl: url });
  const names = ['B', 'a', 'a-z', 'a.b', 'aB', 'a_b', 'ab'].sort();
  for (const queue of names) await service.call('POST', '/jobs', { queue });
  const found: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await service.call('GET', `/queues?limit=2${cursor && `&cursor=${cursor}`}`);
    found.push(...body.queues.map(({ name }: { name: string }) => name));
    cursor = body.next_cursor;
  }
  expect(found).toEqual(names);
  await service.stop();
  await drop();
});
