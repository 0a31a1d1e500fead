import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { cliAt } from '../support/cli.ts';
import { filesOf } from '../support/pageFiles.ts';
import { playPage } from '../support/pageSessions.ts';
import { startReplica } from '../support/replica.ts';
import { type Service, startService } from '../support/service.ts';
import { textOf } from '../support/sources.ts';

const PAGE = 'docs/queues-as-code.md';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test(`the session in ${PAGE} prints what the page shows, when it is typed as it stands there`, async () => {
  const steps = await playPage(PAGE, await service.listen());
  expect(steps.length).toBeGreaterThan(5);
  for (const { typed, printed, came } of steps) expect(came, typed).toBe(printed);
});

test(`a replica that starts by the line of ${PAGE} has applied the file of the page before it serves`, async () => {
  const [, path = ''] = /`QUEUES_FILE=(\S+) dibs serve`/.exec(textOf(PAGE)) ?? [];
  const [file = { name: '', text: '' }] = filesOf(textOf(PAGE));
  expect(path).toBe(`/etc/dibs/${file.name}`);
  const folder = mkdtempSync(join(tmpdir(), 'dibs-queues-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const QUEUES_FILE = join(folder, file.name);
  writeFileSync(QUEUES_FILE, file.text);

  await service.call('PUT', '/queues/mail.welcome', { max_leased: 1 });
  const replica = await startReplica({ DATABASE_URL: service.databaseUrl, QUEUES_FILE });
  onTestFinished(async () => {
    await replica.end('SIGKILL');
  });
  const diff = await cliAt(replica.url)(['diff', QUEUES_FILE]);
  expect(diff).toMatchObject({ status: 0, stdout: 'No differences.\n' });
});
