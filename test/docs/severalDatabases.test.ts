import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../../bench/lib/ports.mjs';
import { createDatabase, createEmptyDatabase, onServer } from '../support/database.ts';
import { sectionOf } from '../support/pageFiles.ts';

type Created = Awaited<ReturnType<typeof createEmptyDatabase>>;
const created: Created[] = [];
afterAll(async () => {
  for (const database of created) await database.drop();
});

test('docs/scaling.md: from one database with jobs to three, and a queue moved, by the lines of the page', async () => {
  const section = sectionOf('docs/scaling.md', 'Several PostgreSQLs');
  const [, lines = ''] = /```bash\n([\s\S]*?)```/.exec(section) ?? [];
  created.push(await createDatabase(), await createEmptyDatabase(), await createEmptyDatabase());
  const [home, second, third] = created.map(({ url }) => url) as [string, string, string];
  await onServer(home, `select dibs.enqueue('from-before')`);

  const port = await freePort();
  // The commands are those of this folder, and the next line is typed when the service is there.
  const script = lines
    .replaceAll('npx dibs', 'node dist/main.js')
    .replace(/^(.*serve &.*)$/m, '$1\nuntil curl -sf "$DIBS_URL/readyz" > /dev/null; do sleep 0.2; done');
  const child = spawn('bash', ['-euc', `trap 'kill %1' EXIT\n${script}`], {
    env: {
      ...process.env,
      ...{ HOME_URL: home, SECOND_URL: second, THIRD_URL: third },
      ...{ PORT: String(port), DIBS_URL: `http://127.0.0.1:${port}` },
    },
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
    });
  const [status] = await once(child, 'close');
  expect(status, said).toBe(0);
  expect(said).toMatch(/^home +open +1 /m);
  expect(said).toMatch(/^b +open +0 /m);
  expect(said).toMatch(/^c +open +0 /m);
  const jobsIn = (url: string) =>
    onServer(url, 'select q.name from dibs.jobs j join dibs.queues q on q.id = j.queue_id order by q.name');
  expect(await jobsIn(home)).toEqual([{ name: 'from-before' }]);
  expect(await jobsIn(second)).toEqual([{ name: 'mail.digest' }]);
  expect(await jobsIn(third)).toEqual([{ name: 'mail.welcome' }]);
});
