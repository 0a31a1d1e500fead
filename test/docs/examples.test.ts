import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runnableKinds } from '../support/examples.ts';
import { served } from '../support/served.ts';
import { type Service, startService } from '../support/service.ts';

const ODD_NAMES = [
  'with spaces',
  ' starts and ends blank ',
  'two\nlines',
  'ends in a newline\n',
  'tab\tand\rreturn',
  'quotes " \' `',
  'back\\slash',
  '$(touch pwned); $HOME & * ?',
  '-n',
  '--help',
  '*',
  'naïve Ünïcödé 日本語 🎉',
  'e\u0301 decomposed',
  '\u0001\u007f\u2028',
];
const PLAIN_FILES = 1000;

/** Shorter than in the example, so that the jobs of a killed worker come back sooner. */
const LEASE_SECONDS = '3';
const TEN_MINUTES = 600_000;

let service: Service;
let url: string;
let folder: string;
let files: Map<string, string>;

/** Fills a folder with files: odd names, an empty file, a large one. Returns the sum of each file by its path. */
async function fill(root: string): Promise<Map<string, string>> {
  const sums = new Map<string, string>();
  async function add(path: string, content: string | Buffer) {
    await writeFile(path, content);
    sums.set(path, createHash('sha256').update(content).digest('hex'));
  }
  const odd = join(root, 'an odd\n"folder"', 'ñ');
  await mkdir(odd, { recursive: true });
  for (const name of ODD_NAMES) await add(join(odd, name), `content of ${name}`);
  await add(join(root, 'empty'), '');
  await add(join(root, 'large'), Buffer.alloc(20 * 2 ** 20, 'dibs'));
  // Some are large, so that the worker to kill is busy for a while.
  for (let i = 0; i < PLAIN_FILES; i++)
    await add(join(root, `plain-${i}`), i % 10 === 0 ? Buffer.alloc(2 ** 20, `${i}`) : `content ${i}`);
  await symlink(join(root, 'empty'), join(root, 'link to a file'));
  await symlink(root, join(root, 'link to a folder'));
  await symlink('nowhere', join(root, 'broken link'));
  return sums;
}

/** Runs the example as a user does. A failed run throws an error with what it printed. */
async function checksums(args: string[], env: Record<string, string>): Promise<string> {
  const { stdout } = await promisify(execFile)('node', ['examples/checksums/run.mjs', ...args], {
    env: { ...process.env, LEASE_SECONDS, ...env },
  });
  return stdout;
}

async function queueNames(): Promise<string[]> {
  const { body } = await service.call('GET', '/queues?limit=1000');
  return body.queues.map((queue: { name: string }) => queue.name);
}

async function completedJobs(queue: string) {
  const jobs = [];
  for (let cursor = ''; ; ) {
    const page = await service.call(
      'GET',
      `/jobs?queue=${queue}&include=payload&limit=1000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    jobs.push(...page.body.jobs);
    cursor = page.body.next_cursor;
    if (cursor === null) return jobs;
  }
}

beforeAll(async () => {
  service = await startService();
  url = await service.listen();
  folder = await mkdtemp(join(tmpdir(), 'dibs-checksums-'));
  files = await fill(folder);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('examples/checksums', () => {
  test.each(runnableKinds)(
    'each file is summed once, even when the %s worker is killed while it holds leases',
    async (kind) => {
      const before = await queueNames();
      const printed = await checksums([`--kill=${kind}`, '--keep', folder], { DIBS_URL: url });
      expect(printed).toContain('left out: 3 symbolic links');
      expect(printed).toContain(`${files.size} of ${files.size} files`);
      const held = Number(/kill -9 of the \w+ worker, which held (\d+) lease/.exec(printed)?.[1]);
      expect(held).toBeGreaterThan(0);

      const queue = (await queueNames()).find((name) => !before.includes(name)) as string;
      const jobs = await completedJobs(queue);
      expect(jobs.map((job) => [job.payload.path, job.state, job.result.sha256]).sort()).toEqual(
        [...files].map(([path, sum]) => [path, 'completed', sum]).sort(),
      );

      // The leases of the killed worker were rescued, and other workers did the jobs.
      const rescued = jobs.filter((job) => job.last_error === 'lease expired' && job.worker !== kind);
      expect(rescued.length).toBeGreaterThan(0);
      for (const job of rescued) expect(job.deliveries).toBeGreaterThan(1);
      expect(new Set(jobs.map((job) => job.worker)).size).toBeGreaterThan(1);
    },
    TEN_MINUTES,
  );

  test(
    'without DIBS_URL it runs on a service of its own',
    async () => {
      const printed = await checksums([folder], { DIBS_URL: '' });
      expect(printed).toContain(`${files.size} of ${files.size} files`);
    },
    TEN_MINUTES,
  );

  test(
    'a file that changed after its job was done is not reported as one with a wrong sum',
    async () => {
      const { account } = await import(new URL('../../examples/checksums/account.mjs', import.meta.url).href);
      const paths = [join(folder, 'empty'), join(folder, 'plain-1'), join(folder, 'plain-2')];
      const call = (...request: Parameters<typeof service.call>) => served(() => service.call(...request));
      await call('PUT', '/queues/account', { retention_seconds: 3600 });
      for (const [i, path] of paths.entries()) {
        const job = { queue: 'account', payload: { path } };
        await call('POST', '/jobs', job, { 'idempotency-key': `account-${i}` });
      }
      const claim = { queues: ['account'], limit: 3, lease_seconds: 3600, claim_id: 'account' };
      const { jobs } = (await call('POST', '/jobs/claim', claim)).body;
      for (const { id, lease_token } of jobs.slice(1))
        await call('POST', `/jobs/${id}/ack`, { lease_token, result: { sha256: 'wrong' } });

      const now = Date.now();
      const later = await account(url, 'account', paths, now + 60_000);
      expect(later).toMatchObject({
        missing: [paths[0]],
        wrong: [paths[1], paths[2]],
        changed: [],
        twice: [],
      });
      const earlier = await account(url, 'account', paths, 0);
      expect(earlier).toMatchObject({
        missing: [paths[0]],
        wrong: [],
        changed: [paths[1], paths[2]],
        twice: [],
      });
    },
    TEN_MINUTES,
  );

  test('the producer enqueues what `find -type f` lists', async () => {
    const { filesIn } = await import(new URL('../../examples/checksums/producer.mjs', import.meta.url).href);
    const found = [];
    for await (const path of filesIn(folder, () => undefined)) found.push(path);
    const listed = spawnSync('find', [folder, '-type', 'f', '-print0'])
      .stdout.toString()
      .split('\0')
      .slice(0, -1);
    expect(found.sort()).toEqual(listed.sort());
    expect(found).toEqual([...files.keys()].sort());
  });
});
