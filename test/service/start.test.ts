import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { SLOW } from '../support/replica.ts';
import { ROOT } from '../support/sources.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'dibs-start-'));
const pids: number[] = [];

/** The start may build first. A slow machine takes minutes for that. */
const TWENTY_MINUTES = 1_200_000;

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

afterAll(() => {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
});

// A second try is for a busy machine: PostgreSQL may answer a connection too late, which logs a warning.
test('npm start warns of nothing, and SIGTERM to it stops the service and its PostgreSQL', {
  retry: 2,
  timeout: TWENTY_MINUTES,
}, async () => {
  const { DATABASE_URL: _, ...env } = process.env;
  const npm = spawn('npm', ['start'], {
    cwd: ROOT,
    env: { ...env, PORT: '0', DATA_DIR: dataDir, LOG_LEVEL: 'info' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(npm, 'exit');
  const said: { pid: number; level: number; msg: string }[] = [];
  const closed = new Promise((resolve) => npm.stdout.once('close', resolve));
  const until = (text: string) =>
    new Promise<void>((resolve, reject) => {
      createInterface({ input: npm.stdout }).on('line', (line) => {
        if (!line.startsWith('{')) return;
        said.push(JSON.parse(line));
        if (line.includes(text)) resolve();
      });
      ended.then(() => reject(new Error(`npm start ended: ${JSON.stringify(said)}`)));
    });
  await until(`Dibs ${version} is ready at`);
  const postgres = Number(readFileSync(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]);
  const service = said[0]?.pid as number;
  pids.push(service, postgres);

  npm.kill('SIGTERM');
  await ended;
  await closed;
  expect([service, postgres].map(isAlive)).toEqual([false, false]);
  expect(said.map((line) => line.msg)).toContain('stopping');
  expect(said.filter(({ level, msg }) => level > 30 && msg !== SLOW)).toEqual([]);
});
