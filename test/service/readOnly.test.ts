import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { complaintsIn, http, startReplica } from '../support/replica.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Serves what might write a file, and stops. Fails if anything went wrong. */
async function serve(command: [string, ...string[]], look: (pid: number) => void = () => undefined) {
  const replica = await startReplica(
    { DATABASE_URL: database.url, HOME: '/nonexistent' },
    process.cwd(),
    command,
  );
  look(replica.pid);
  for (const path of ['/readyz', '/openapi.json', '/docs', '/docs/static/swagger-ui.css'])
    expect((await fetch(replica.url + path)).status, path).toBe(200);
  const large = { queue: 'q', payload: 'x'.repeat(500_000) };
  expect((await http(replica.url, 'POST', '/jobs/batch', { jobs: Array(20).fill(large) })).status).toBe(201);
  const claimed = await http(replica.url, 'POST', '/jobs/claim', { queues: ['q'], limit: 20 });
  expect(claimed.body.jobs.length).toBeGreaterThan(0);
  expect((await http(replica.url, 'DELETE', '/queues/q?force=true')).status).toBe(204);
  expect(await replica.end('SIGTERM')).toBe(0);
  expect(complaintsIn(replica.lines)).toEqual([]);
  expect(replica.lines.filter((line) => /ERR_ACCESS_DENIED|EROFS|EACCES/.test(line))).toEqual([]);
}

/** Node refuses to write files, to start processes and threads, and to load machine code. */
const flags = process.allowedNodeEnvironmentFlags;
const permission = flags.has('--permission') ? '--permission' : '--experimental-permission';
const fenced = [permission, '--allow-fs-read=*', ...(flags.has('--allow-net') ? ['--allow-net'] : [])];

test('with DATABASE_URL, Dibs writes no file and starts no process: Node refuses both to it', async () => {
  const tries = `
    try { require('node:fs').writeFileSync('/tmp/dibs-mine', ''); } catch (error) { console.log(error.code); }
    try { require('node:child_process').spawnSync('true'); } catch (error) { console.log(error.code); }`;
  const { stdout } = spawnSync(process.execPath, [...fenced, '-e', tries], { encoding: 'utf8' });
  expect(stdout).toBe('ERR_ACCESS_DENIED\nERR_ACCESS_DENIED\n');
  await serve([process.execPath, ...fenced]);
});

/*
 * Nearly a container: a mount namespace of its own in which every file system is read-only, another user than root, no
 * capability, and none to be had.
 */
const CAGE = `
  mount --make-rprivate /
  for at in $(cut -d' ' -f5 /proc/self/mountinfo | sort -r); do mount -o remount,bind,ro "$at" 2>/dev/null; done
  exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all -- "$@"`;
const cage: [string, ...string[]] = ['unshare', '--mount', '--', 'sh', '-c', CAGE, 'sh'];

/** Where this user could write, outside of the cage. */
const PLACES = ['/tmp', '/var/tmp', '/dev/shm', '/run', '.'];
const tryToWrite = PLACES.map((place) => `touch ${place}/dibs-mine 2>/dev/null && echo ${place}`).join('; ');
const inCage = spawnSync(
  cage[0],
  [...cage.slice(1), 'sh', '-c', `${tryToWrite}; id -u; cat ${process.execPath} | wc -c`],
  {
    encoding: 'utf8',
  },
);
const hasCage = /^65534\n[1-9]\d{6,}\n$/.test(inCage.stdout ?? '');

test.skipIf(!hasCage)(
  'as a user without capabilities, on a read-only file system, Dibs serves (needs root and unshare)',
  async () => {
    await serve([...cage, process.execPath], (pid) => {
      const status = readFileSync(`/proc/${pid}/status`, 'utf8');
      expect(status).toMatch(/^Uid:\t65534\t65534\t65534\t65534$/m);
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd'])
        expect(status).toMatch(new RegExp(`^${set}:\\t0{16}$`, 'm'));
      expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    });
  },
);
