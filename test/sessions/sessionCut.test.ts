import { spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { moves } from '../support/moves.ts';
import { startService } from '../support/service.ts';

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

test.skipIf(!canCut)(
  'a network that is cut without a FIN is noticed by missing answers to lines, and the jobs go to others',
  async () => {
    const network = createNetwork();
    const service = await startService();
    undo.push(service.stop);
    const at = moves(service);
    const queue = at.newQueue();
    const url = await service.listen(network.host);
    const holder = network.command('curl', '-sSN', '-X', 'POST', `${url}/sessions`);
    undo.push(() => holder.kill('SIGKILL'));
    const lines = createInterface({ input: holder.stdout });
    const [first] = await once(lines, 'line');
    const { session } = JSON.parse(first);
    await at.enqueue({ queue });
    await at.claimOne(queue, { session, lease_seconds: 600 });
    const other = at.claimOne(queue, { wait_seconds: 60, lease_seconds: 600 });
    await once(lines, 'line');
    await sleep(500);
    network.cut();
    const cutAt = performance.now();
    expect(await other).toMatchObject({ attempt: 2, last_error: 'connection lost' });
    // 4 looks 3 s apart, and 2 s to resume it. A busy machine may take longer.
    expect(performance.now() - cutAt).toBeGreaterThan(5000);
    expect(performance.now() - cutAt).toBeLessThan(40_000);
  },
);
