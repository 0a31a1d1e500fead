import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { othersOf } from './severalDatabases.ts';

/** A replica in a process of its own, as built in dist/. */
export interface Replica {
  url: string;
  pid: number;
  /** The lines that it has logged so far. */
  lines: string[];
  /** Sends a signal and waits for the end. Returns the exit code, or null when the signal killed it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/**
 * Starts `dibs serve` on a free port. `env` sets DATABASE_URL, DATA_DIR and so on. `folder` is where Dibs was built.
 * `command` runs it.
 */
export async function startReplica(
  env: Record<string, string>,
  folder = '.',
  [command, ...args]: [string, ...string[]] = [process.execPath],
): Promise<Replica> {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const others = env.DATABASE_URL === undefined ? {} : await othersOf(env.DATABASE_URL);
  const urls = Object.entries(others).map(([name, url]) => [`DATABASE_URL_${name.toUpperCase()}`, url]);
  const child = spawn(command, [...args, `${folder}/dist/main.js`, 'serve'], {
    env: { ...inherited, ...Object.fromEntries(urls), PORT: '0', LOG_LEVEL: 'info', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  child.stderr.on('data', (chunk) => lines.push(String(chunk)));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line);
      const ready = /ready at (https?:[^\s"]+)/.exec(line);
      if (ready) resolve(ready[1] as string);
    });
    child.once('exit', (code) => reject(new Error(`dibs ended with ${code}:\n${lines.join('\n')}`)));
  });
  return {
    url,
    pid: child.pid as number,
    lines,
    async end(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
      child.kill(signal);
      const [code] = await once(child, 'exit');
      return code;
    },
  };
}

/** On a busy machine, this is logged: that is no fault. */
export const SLOW = 'a round trip to the database was slow';

/** The warnings and errors among lines of the log, without those that a busy machine brings. */
export const complaintsIn = (lines: string[]): string[] =>
  lines.filter((line) => /"level":[456]0/.test(line) && !line.includes(SLOW));

/** Runs a command of Dibs, as built in dist/ of a folder, until it ends by itself. */
export async function ended(
  env: Record<string, string>,
  command: 'serve' | 'migrate' = 'serve',
  folder = '.',
): Promise<{ code: number | null; said: string }> {
  const { DATABASE_URL: _, ...inherited } = process.env;
  const child = spawn(process.execPath, [`${folder}/dist/main.js`, command], {
    env: { ...inherited, PORT: '0', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, said };
}

/** A request to a replica over a real socket. */
export async function http(
  base: string,
  method: string,
  path: string,
  body?: unknown,
  { signal, headers = {} }: { signal?: AbortSignal; headers?: Record<string, string> } = {},
) {
  const response = await fetch(base + path, {
    method,
    signal,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
    body: (text ? JSON.parse(text) : undefined) as any,
  };
}
