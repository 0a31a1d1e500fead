import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { atEnd } from './cleanup.mjs';

const LOAD = fileURLToPath(new URL('../load', import.meta.url));

/** Runs a child to its end and returns its output. It is killed with the benchmark, or after `seconds`. */
export async function run(command, args, { seconds, env = {}, input } = {}) {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
    stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  const late = setTimeout(() => child.kill('SIGKILL'), seconds * 1000);
  let done = false;
  atEnd(() => !done && child.kill('SIGKILL'));
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    err = (err + text).slice(-4000);
  });
  input?.on('error', () => child.kill()).pipe(child.stdin);
  // If the child ends before it has read all its input, its exit code says so.
  child.stdin?.on('error', () => undefined);
  const [code, signal] = await once(child, 'close');
  done = true;
  clearTimeout(late);
  if (code !== 0) throw new Error(`${command} ended with ${code ?? signal}: ${err}\n${out.slice(-2000)}`);
  return out;
}

/** Runs wrk with a script of bench/load; returns its counters. A connection sends one request at a time. `cpus` pins it. */
export async function wrk(url, { script, connections, seconds, args = [], threads = 1, key, cpus }) {
  const out = await run(
    cpus ? 'taskset' : 'wrk',
    [
      ...(cpus ? ['-c', cpus, 'wrk'] : []),
      ...[
        '-t',
        Math.min(threads, connections),
        '-c',
        connections,
        '-d',
        `${seconds}s`,
        '--timeout',
        '10s',
      ].map(String),
      ...(key ? ['-H', `Authorization: Bearer ${key}`] : []),
      ...['-s', `${LOAD}/${script}.lua`, url, '--', ...args],
    ],
    { seconds: seconds + 30, env: { LUA_PATH: `${LOAD}/?.lua;;` } },
  );
  const line = /^RESULT (.*)$/m.exec(out)?.[1];
  if (!line) throw new Error(`wrk printed no result:\n${out}`);
  const result = JSON.parse(line);
  if (result.requests === 0) throw new Error(`wrk had no answer from ${url}:\n${out}`);
  return { ...result, rps: result.requests / result.seconds };
}

/** Runs the mixed cycle on a queue. Returns `cycles` a second, and the failures in `trouble`. */
export async function cycle(url, queue, job, { connections, seconds, script = 'cycle', key, cpus }) {
  const result = await wrk(url, { script, connections, seconds, args: [queue, job], key, cpus });
  return { ...result, cycles: result.acked / result.seconds, trouble: trouble(result) };
}

/** The failures of a run, in words; empty when all went well. */
export function trouble({ failed = 0, empty = 0, short = 0, late = 0, not_2xx, broken }) {
  const counts = {
    'failed answers': failed,
    'not 2xx': not_2xx,
    'broken connections': broken,
    'empty claims': empty,
    'answers before the end of the job': late,
  };
  return Object.entries({ ...counts, 'claims not full': short })
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${count} ${name}`)
    .join(', ');
}
