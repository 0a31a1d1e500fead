import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atEnd } from '../lib/cleanup.mjs';
import { workDir } from '../lib/machine.mjs';
import { freePort } from '../lib/ports.mjs';
import { run } from '../lib/wrk.mjs';

export const redisVersion = async () =>
  /v=(\S+)/.exec(await run('redis-server', ['--version'], { seconds: 5 }))[1];

/** Starts a Redis that appends to its file at each write and flushes as `appendfsync` says. */
export async function startRedis(appendfsync) {
  const dir = await mkdtemp(join(workDir(), 'dibs-bench-redis-'));
  const port = await freePort();
  // As BullMQ's guide/going-to-production asks: AOF and `maxmemory-policy noeviction`. No snapshots.
  const settings = {
    ...{ bind: '127.0.0.1', port, dir, appendonly: 'yes', appendfsync, save: '' },
    ...{ 'maxmemory-policy': 'noeviction', daemonize: 'no', loglevel: 'warning' },
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, `${value}`]);
  const child = spawn('redis-server', args, { stdio: 'ignore' });
  const exited = once(child, 'exit');
  let running = true;
  const stop = async () => {
    if (!running) return;
    running = false;
    child.kill('SIGKILL');
    await exited;
    await rm(dir, { recursive: true, force: true });
  };
  atEnd(stop);
  const cli = (...words) => run('redis-cli', ['-p', `${port}`, ...words], { seconds: 5 });
  for (let tries = 100; ; tries--) {
    const answer = await cli('ping').catch(() => '');
    if (answer.startsWith('PONG')) break;
    if (tries === 0 || child.exitCode !== null) throw new Error('redis-server does not start');
    await sleep(50);
  }
  const inForce = (await cli('config', 'get', 'append*')).split('\n');
  const settingOf = (name) => inForce[inForce.indexOf(name) + 1];
  if (settingOf('appendonly') !== 'yes' || settingOf('appendfsync') !== appendfsync)
    throw new Error(`redis-server does not run with the settings it was given: ${inForce.join(' ')}`);
  return { url: `redis://127.0.0.1:${port}`, stop };
}
