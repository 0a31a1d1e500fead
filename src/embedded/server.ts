import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cluster, pathFor } from './cluster.ts';
import { EmbeddedError, instead } from './errors.ts';
import { withoutValues } from './logLines.ts';
import { readPidFile } from './pidfile.ts';
import { endProcess } from './stop.ts';
import { clearTheWay } from './takeover.ts';
import { bareEnv, type RunAs } from './user.ts';

export interface Setup {
  cluster: Cluster;
  native: string;
  user: RunAs | undefined;
  log: (message: string) => void;
  settings: Record<string, string>;
  /** Undefined: any free port. */
  port: number | undefined;
}

export interface Server {
  port: number;
  /** Whether it listens on a Unix socket in its data directory. */
  hasSocket: boolean;
  isAlive(): boolean;
  /** Settles when the process has ended, for any reason. */
  exited: Promise<void>;
  /** Returns when the process has ended. May be called again. */
  stop(): Promise<void>;
}

const defaults = {
  max_connections: '100',
  shared_buffers: '128MB',
  timezone: 'UTC',
  log_timezone: 'UTC',
};

/** The log shows no rows: no details, statements or parameters. withoutValues() needs the SQLSTATE. */
const quiet = {
  log_line_prefix: '[%p %e] ',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
};

/** Starts the server. Returns when it accepts connections, however long its recovery takes. */
export async function startServer(setup: Setup): Promise<Server> {
  let withSocket = true;
  for (let tries = 60; ; tries--) {
    await clearTheWay(setup);
    const server = launch(setup, setup.port ?? (await freePort()), withSocket);
    if (await isReady(server, setup.cluster)) return server;
    const lines = server.lastLines.join('\n');
    if (lines.includes(NO_SOCKET)) {
      withSocket = false;
      continue;
    }
    if (!mayPass(lines) || tries === 0) {
      throw new EmbeddedError(`PostgreSQL did not start on ${setup.cluster.home}:\n${lines}\n${instead}`);
    }
    await sleep(500);
  }
}

/** Not every file system has sockets. */
const NO_SOCKET = 'could not create any Unix-domain sockets';

/** Whether to try again: somebody has the port, another server has the data, or backends of a killed server still run. */
function mayPass(lines: string): boolean {
  return /could not (bind|create any TCP\/IP sockets)|lock file "postmaster.pid"|pre-existing shared memory/.test(
    lines,
  );
}

type Launched = Server & { pid: number | undefined; lastLines: string[] };

function launch(setup: Setup, port: number, hasSocket: boolean): Launched {
  const { cluster, native, user, log, settings } = setup;
  // Ours come last and win: only this machine may connect, and nothing is written outside the data directory.
  const fixed = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    // The data directory is its working directory, whatever the path to it is.
    unix_socket_directories: hasSocket ? '.' : '',
  };
  const all = Object.entries({ ...defaults, ...settings, ...quiet, ...fixed });
  const args = [
    '-D',
    pathFor(cluster.data, user),
    ...all.flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ];
  const child = spawn(join(native, 'bin', 'postgres'), args, {
    ...user,
    cwd: cluster.data,
    env: bareEnv,
    // Ctrl-C reaches all processes of the terminal's group. The database must outlive the last writes of the service.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const lastLines: string[] = [];
  const readable = withoutValues();
  createInterface({ input: child.stderr }).on('line', (text) => {
    const line = readable(text);
    if (line === undefined) return;
    lastLines.push(line);
    if (lastLines.length > 20) lastLines.shift();
    log(line);
  });
  // For a service that ends without a call of stop, for example by process.exit().
  const onExit = () => child.kill('SIGINT');
  process.once('exit', onExit);
  const exited = ended(child, lastLines).finally(() => process.off('exit', onExit));
  const isAlive = () => child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  const stop = () => (isAlive() ? endProcess(child.pid ?? 0, isAlive) : Promise.resolve()).then(() => exited);
  return { port, hasSocket, pid: child.pid, lastLines, isAlive, exited, stop };
}

async function ended(child: ChildProcess, lastLines: string[]): Promise<void> {
  try {
    const closed = once(child, 'close').catch(() => {});
    await once(child, 'exit');
    // Wait for its last lines, but not long: a backend that notices the end late may hold the pipe open.
    await Promise.race([closed, sleep(1_000, undefined, { ref: false })]);
  } catch (error) {
    lastLines.push(String(error));
  }
}

async function isReady(server: Launched, cluster: Cluster): Promise<boolean> {
  try {
    for (; server.isAlive(); await sleep(20)) {
      const file = readPidFile(cluster);
      if (file?.ready && file.pid === server.pid) return true;
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  await server.exited;
  return false;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
