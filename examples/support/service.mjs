import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/**
 * The service at DIBS_URL, or a new one on a free port with its data in a temporary folder. With `settings`, variables that
 * the example needs, it is always a new one.
 */
export async function openService(settings) {
  if (process.env.DIBS_URL && !settings)
    return { url: process.env.DIBS_URL.replace(/\/$/, ''), async close() {} };
  if (!existsSync(main)) throw new Error('There is no dist/main.js yet: run `npm run build` first');

  const dataDir = await mkdtemp(join(tmpdir(), 'dibs-example-'));
  const { DATABASE_URL: _, ...env } = process.env;
  const child = spawn(process.execPath, [main, 'serve'], {
    env: { ...env, HOST: '127.0.0.1', PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'info', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
    // A process group of its own, so that Ctrl-C does not reach it: close() stops it, after the workers.
    detached: true,
  });
  const ended = once(child, 'exit');
  async function close() {
    child.kill('SIGTERM');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  }
  try {
    const url = await new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const ready = /ready at (http:\S+?)"/.exec(line);
        if (ready) resolve(ready[1]);
      });
      ended.then(([code]) => reject(new Error(`dibs serve ended with ${code}`)), reject);
    });
    return { url, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Sends a request to the service. Throws the detail of the problem document when the status is not 2xx. */
export async function call(url, method, path, body, headers = {}) {
  const response = await fetch(url + path, {
    method,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const answer = text === '' ? undefined : JSON.parse(text);
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${answer?.detail ?? text}`);
  return answer;
}

/**
 * Runs an example's main function, which returns true when all went well. `unlessStopped` passes a promise
 * through. At Ctrl-C or SIGTERM it rejects, so that main stops the processes that it started.
 */
export async function example(main) {
  const stopped = new Promise((_, reject) => {
    for (const signal of ['SIGINT', 'SIGTERM'])
      process.once(signal, () => reject(new Error(`stopped by ${signal}`)));
  });
  stopped.catch(() => undefined);
  const unlessStopped = (promise) => Promise.race([promise, stopped]);
  try {
    process.exitCode = (await main(process.argv.slice(2), unlessStopped)) ? 0 : 1;
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
