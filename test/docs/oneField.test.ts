import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Service, startService } from '../support/service.ts';
import { ROOT, textOf } from '../support/sources.ts';

const pages = [
  'README.md',
  ...readdirSync(`${ROOT}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.startsWith('decisions/'))
    .map((file) => `docs/${file}`),
];

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(async () => {
  await service.stop();
});

test('each section that shows a PUT of a queue says how to change one field', () => {
  const shows = pages.flatMap((page) =>
    textOf(page)
      .split(/^(?=## )/m)
      .filter((section) => /-X PUT "\$DIBS\/queues\/|PUT \/queues\/mail/.test(section))
      .map((section) => ({ section, name: `${page}, ${section.split('\n')[0]}` })),
  );
  expect(shows.length).toBeGreaterThan(9);
  expect(
    shows
      .filter(({ section }) => !section.includes('replaces the whole configuration'))
      .map(({ name }) => name),
  ).toEqual([]);
  const isTold = (section: string) =>
    section.includes('replaces the whole configuration') &&
    /#one-field-of-a-queue|^## One field of a queue/.test(section);
  expect(shows.filter(({ section }) => !isTold(section)).map(({ name }) => name)).toEqual([]);
});

test('the way that docs/operating.md shows changes one field, and keeps the others', async () => {
  const section = textOf('docs/operating.md').split('\n## One field of a queue\n')[1] ?? '';
  const typed = /```sh\n(.*?)```/s.exec(section)?.[1] ?? '';
  const url = await service.listen();
  const change = () => promisify(execFile)('bash', ['-c', typed], { env: { ...process.env, DIBS: url } });
  await service.call('PUT', '/queues/mail', {
    max_attempts: 7,
    backoff: { kind: 'linear', base_seconds: 2 },
    rate_limit: { jobs: 100, per_seconds: 60 },
    dead_letter_queue: 'mail.dead',
  });
  const before = await service.call('GET', '/queues/mail');
  await change();
  const after = await service.call('GET', '/queues/mail');
  expect(after.body.config).toEqual({ ...before.body.config, max_leased: 4 });

  // Where the first request fails, the second one changes nothing.
  await service.call('DELETE', '/queues/mail');
  await expect(change()).rejects.toThrow();
  expect((await service.call('GET', '/queues/mail')).status).toBe(404);
});
