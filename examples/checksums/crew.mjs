import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { call } from '../support/service.mjs';
import { jobsIn } from './account.mjs';

const here = (file) => fileURLToPath(new URL(file, import.meta.url));

/** The command of each worker, and the tools that it needs. */
const WORKERS = {
  bash: { command: ['bash', here('worker.sh')], needs: ['bash', 'jq', 'sha256sum'] },
  python: { command: ['python3', here('worker.py')], needs: ['python3'] },
  node: { command: [process.execPath, here('worker.mjs')], needs: [] },
};

export const KINDS = Object.keys(WORKERS);

const isMissing = (tool) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error !== undefined;

/** The command of a kind of worker. If one of its tools is missing, a Node worker takes its place. */
function commandOf(kind) {
  const missing = WORKERS[kind].needs.filter(isMissing);
  if (missing.length === 0) return WORKERS[kind].command;
  console.log(`No ${kind} worker (missing: ${missing.join(', ')}): a Node worker takes its place`);
  return WORKERS.node.command;
}

/** Starts a worker process and names it after its kind. `env` holds its service and queue. */
export function startWorker(kind, env) {
  const [command, ...args] = commandOf(kind);
  const child = spawn(command, args, {
    env: { ...process.env, ...env, WORKER: kind },
    stdio: ['ignore', 'ignore', 'inherit'],
    // A process group of its own, so that a signal reaches what it started, too.
    detached: true,
  });
  return {
    name: kind,
    ended: once(child, 'exit').then(([code, signal]) => ({ code, signal })),
    /** Asks it to finish its jobs and end. */
    stop: () => child.kill('SIGTERM'),
    /** Sends a signal to it and to its children. */
    signal(signal) {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid, signal);
    },
  };
}

const progress = async (url, queue) => (await call(url, 'GET', `/queues/${queue}`)).counts;

/** Waits until at least one job is done. */
export async function untilBegun(url, queue) {
  for (;;) {
    const { completed, dead } = await progress(url, queue);
    if (completed + dead > 0) return;
    await sleep(5);
  }
}

const leasesOf = async (worker, url, queue) =>
  (await jobsIn(url, queue, 'leased')).filter((job) => job.worker === worker.name);

/** The leases of a stopped worker, once none of its requests under way changes them any more. */
async function settledLeasesOf(worker, url, queue) {
  for (let before; ; ) {
    const jobs = await leasesOf(worker, url, queue);
    const ids = jobs.map((job) => job.id).join();
    if (jobs.length === 0 || ids === before) return jobs;
    before = ids;
    await sleep(300);
  }
}

/**
 * Kills a worker with kill -9 while it holds leases. Its acks may be under way. So it is stopped first
 * (SIGSTOP), and its leases are read after that. Returns the jobs that it held.
 */
export async function killAtWork(worker, url, queue, total) {
  for (;;) {
    if ((await leasesOf(worker, url, queue)).length > 0) {
      worker.signal('SIGSTOP');
      const held = await settledLeasesOf(worker, url, queue);
      if (held.length > 0) {
        worker.signal('SIGKILL');
        await worker.ended;
        return held;
      }
      worker.signal('SIGCONT');
    }
    const { completed, dead } = await progress(url, queue);
    if (completed + dead === total)
      throw new Error(
        `All jobs were done before the ${worker.name} worker could be killed: take a larger folder`,
      );
    await sleep(5);
  }
}
