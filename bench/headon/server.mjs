import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuSecondsOf } from '../lib/cpu.mjs';

const START_MS = 60_000;
const STOP_MS = 12_000;

/** Starts the program of a side, and waits until `GET` of the address answers. */
export async function startServer(command, args, { env = {}, cwd, health }, atStop) {
  const child = spawn(command, args, {
    ...{ cwd, env: { ...process.env, ...env } },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const output of [child.stdout, child.stderr])
    output.setEncoding('utf8').on('data', (text) => {
      said = (said + text).slice(-4000);
    });
  const exited = once(child, 'exit').catch((error) => {
    said += error.message;
  });
  let isUp = true;
  exited.then(() => {
    isUp = false;
  });
  atStop(async () => {
    if (!isUp) return;
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await exited;
    clearTimeout(late);
  });
  const until = performance.now() + START_MS;
  for (;;) {
    const answer = await fetch(health).catch(() => undefined);
    if (answer?.ok)
      return { pid: child.pid, cpu: () => cpuSecondsOf(child.pid), health: await answer.json() };
    if (!isUp || performance.now() > until) throw new Error(`${command} does not start:\n${said}`);
    await sleep(100);
  }
}
