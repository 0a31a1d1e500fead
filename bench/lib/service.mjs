import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atEnd } from './cleanup.mjs';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const BARE = fileURLToPath(new URL('./bare.mjs', import.meta.url));
/** A busy machine takes long to start ten of them. */
const START_MS = 120_000;

/** Starts a program that prints a line with its address when it is ready. */
async function start(args, env) {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, args, {
    env: { ...inherited, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info', NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const exited = once(child, 'exit');
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  async function stop() {
    if (!isAlive()) return;
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), 12_000);
    await exited;
    clearTimeout(late);
  }
  atEnd(stop);

  // Warnings and errors in its log explain a bad figure.
  const complaints = [];
  const complain = (line) => {
    if (complaints.length < 50) complaints.push(line);
  };
  createInterface({ input: child.stderr }).on('line', complain);
  const url = await new Promise((resolve, reject) => {
    const late = setTimeout(
      () => reject(new Error(`${args[0]} is not ready after ${START_MS} ms`)),
      START_MS,
    );
    createInterface({ input: child.stdout }).on('line', (line) => {
      const ready = /ready at (http:\/\/[^\s"]+)/.exec(line);
      if (ready) {
        clearTimeout(late);
        resolve(ready[1]);
      } else if (/"level":[456]0/.test(line)) complain(line);
    });
    child.once('exit', (code) =>
      reject(new Error(`${args[0]} ended with ${code}:\n${complaints.join('\n')}`)),
    );
  });

  return {
    url,
    pid: child.pid,
    child,
    stop,
    complaints,
    /** Resident memory in MB, by Linux. */
    memory() {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1000;
    },
  };
}

/**
 * Starts a replica in a process of its own. `main` is the main.js of its build, by default of this one. `probe` is a
 * module that runs in the same process, before it.
 */
export async function startReplica(databaseUrl, env = {}, main = MAIN, probe = undefined) {
  const preload = probe ? ['--import', probe] : [];
  const replica = await start([...preload, main, 'serve'], { DATABASE_URL: databaseUrl, ...env });
  for (let tries = 50; (await fetch(`${replica.url}/readyz`)).status !== 200; tries--) {
    if (tries === 0) throw new Error('the replica is not ready');
    await sleep(100);
  }
  return replica;
}

/** Starts the same route without a database, in a process of its own. */
export const startBare = () => start([BARE], {});
