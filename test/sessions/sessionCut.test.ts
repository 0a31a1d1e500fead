import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { http, startReplica } from '../support/replica.ts';

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const one of undo.splice(0).toReversed()) await one();
});

const ip = (...args: string[]) => spawnSync('ip', args, { encoding: 'utf8' });

/** A network with one cable, which can be cut. It needs root, and `ip` of iproute2. */
function createNetwork() {
  const name = `dibs${randomInt(1e6)}`;
  const net = `10.${randomInt(200, 250)}.${randomInt(250)}`;
  undo.push(
    () => ip('netns', 'del', name),
    () => ip('link', 'del', `${name}a`),
  );
  const made = [
    ip('netns', 'add', name),
    ip('link', 'add', `${name}a`, 'type', 'veth', 'peer', 'name', `${name}b`, 'netns', name),
    ip('addr', 'add', `${net}.1/24`, 'dev', `${name}a`),
    ip('link', 'set', `${name}a`, 'up'),
    ip('netns', 'exec', name, 'ip', 'addr', 'add', `${net}.2/24`, 'dev', `${name}b`),
    ip('netns', 'exec', name, 'ip', 'link', 'set', `${name}b`, 'up'),
  ];
  return {
    isThere: made.every(({ status }) => status === 0),
    host: `${net}.1`,
    command: (program: string, ...args: string[]) =>
      spawn('ip', ['netns', 'exec', name, program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] }),
    cut: () => ip('netns', 'exec', name, 'ip', 'link', 'set', `${name}b`, 'down'),
  };
}

const canCut = process.platform === 'linux' && process.getuid?.() === 0 && createNetwork().isThere;
for (const one of undo.splice(0)) one();

/** `deploy/systemd/dibs.service` has ProcSubset=pid: in /proc are processes only. */
const PROCESSES_ONLY = 'mount -t proc -o subset=pid proc /proc && exec "$@"';
const withProcessesOnly: [string, ...string[]] = [
  'unshare',
  '--mount',
  '--',
  'sh',
  '-c',
  PROCESSES_ONLY,
  'sh',
];
const hasSubset = spawnSync('unshare', [...withProcessesOnly.slice(1), 'true']).status === 0;

/** A replica that this command runs gives the jobs of a machine away that has vanished from the network. */
async function givesAway(command: [string, ...string[]]): Promise<void> {
  const network = createNetwork();
  const database = await createDatabase();
  undo.push(database.drop);
  const env = { DATABASE_URL: database.url, HOST: network.host, AUTH: 'off' };
  const replica = await startReplica(env, '.', command);
  undo.push(() => replica.end('SIGKILL'));
  const claim = async (wish: object) =>
    (await http(replica.url, 'POST', '/jobs/claim', { queues: ['cut'], lease_seconds: 600, ...wish })).body
      .jobs[0];
  const holder = network.command('curl', '-sSN', '-X', 'POST', `${replica.url}/sessions`);
  undo.push(() => holder.kill('SIGKILL'));
  const lines = createInterface({ input: holder.stdout });
  const [first] = await once(lines, 'line');
  const { session } = JSON.parse(first);
  await http(replica.url, 'POST', '/jobs', { queue: 'cut' });
  expect(await claim({ session })).toMatchObject({ attempt: 1 });
  const other = claim({ wait_seconds: 60 });
  await once(lines, 'line');
  await sleep(500);
  network.cut();
  const cutAt = performance.now();
  expect(await other).toMatchObject({ attempt: 2, last_error: 'connection lost' });
  // 4 looks 3 s apart, and 2 s to resume it. A busy machine may take longer.
  expect(performance.now() - cutAt).toBeGreaterThan(5000);
  expect(performance.now() - cutAt).toBeLessThan(40_000);
  expect(replica.lines.join('')).not.toContain('vanishes');
}

test.skipIf(!canCut)(
  'a network that is cut without a FIN is noticed by missing answers to lines, and the jobs go to others',
  () => givesAway([process.execPath]),
);

test.skipIf(!canCut || !hasSubset)('so it is where /proc shows processes only, as to a unit of systemd', () =>
  givesAway([...withProcessesOnly, process.execPath]),
);
