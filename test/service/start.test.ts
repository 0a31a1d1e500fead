import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { version } from '../../src/version.ts';
import { createDatabase } from '../support/database.ts';
import { http } from '../support/replica.ts';
import { served } from '../support/served.ts';
import { ROOT } from '../support/sources.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'dibs-start-'));
const pids: number[] = [];

/** Each start may build first. A slow machine takes minutes for that. */
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
  expect(said.filter((line) => line.level > 30)).toEqual([]);
});

describe('in one clone', () => {
  let clone: string;
  let database: Awaited<ReturnType<typeof createDatabase>>;
  beforeAll(async () => {
    clone = mkdtempSync(join(tmpdir(), 'dibs-clone-'));
    const { include } = JSON.parse(readFileSync(join(ROOT, 'tsconfig.build.json'), 'utf8'));
    for (const path of [
      'package.json',
      'tsconfig.json',
      'tsconfig.build.json',
      'sql',
      'web',
      'scripts',
      ...include,
    ])
      cpSync(join(ROOT, path), join(clone, path), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
    database = await createDatabase();
  });
  afterAll(async () => {
    await database.drop();
    rmSync(clone, { recursive: true, force: true });
  });

  /** Runs `npm start` until it serves. Returns its address, and what it has said. */
  async function npmStart() {
    const npm = spawn('npm', ['start'], {
      cwd: clone,
      env: { ...process.env, PORT: '0', DATABASE_URL: database.url, LOG_LEVEL: 'info' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    pids.push(npm.pid as number);
    let said = '';
    npm.stderr.on('data', (data) => {
      said += data;
    });
    const url = await new Promise<string>((resolve, reject) => {
      npm.stdout.on('data', (data) => {
        said += data;
        const ready = /ready at (http:\S+?)"/.exec(said);
        if (ready) resolve(ready[1] as string);
      });
      npm.once('exit', (code) => reject(new Error(`npm start ended with ${code}:\n${said}`)));
    });
    return {
      url,
      async stop() {
        npm.kill('SIGTERM');
        await once(npm, 'exit');
      },
    };
  }

  const expectToServe = async (urls: string[]) => {
    for (const url of urls) {
      const answer = await served(() => http(url, 'POST', '/jobs', { queue: 'clone' }));
      expect(answer.status).toBe(201);
    }
  };

  test('three npm start at once all serve, and leave nothing behind but dist/', {
    timeout: TWENTY_MINUTES,
  }, async () => {
    const before = readdirSync(clone);
    const services = await Promise.all([npmStart(), npmStart(), npmStart()]);
    await expectToServe(services.map(({ url }) => url));
    expect(readdirSync(clone).sort()).toEqual([...before, 'dist'].sort());
    await Promise.all(services.map(({ stop }) => stop()));
  });

  test('npm start builds again when a source has changed, while others run', {
    timeout: TWENTY_MINUTES,
  }, async () => {
    const first = await npmStart();
    const built = () => statSync(join(clone, 'dist/.stamp')).mtimeMs;
    const then = built();
    const second = await npmStart();
    expect(built()).toBe(then);
    cpSync(join(ROOT, 'src/ids.ts'), join(clone, 'src/more.ts'));
    // A build that was killed left these behind.
    mkdirSync(join(clone, '.building-999999'));
    writeFileSync(join(clone, '.building.lock'), '999999');
    const more = await Promise.all([npmStart(), npmStart()]);
    expect(readdirSync(join(clone, 'dist/src'))).toContain('more.js');
    expect(readdirSync(clone).filter((name) => name.startsWith('.building'))).toEqual([]);
    // Somebody deletes a file that was built.
    rmSync(join(clone, 'dist/main.js'));
    more.push(...(await Promise.all([npmStart(), npmStart()])));
    rmSync(join(clone, 'src/more.ts'));
    const last = await npmStart();
    expect(readdirSync(join(clone, 'dist/src'))).not.toContain('more.js');
    const services = [first, second, ...more, last];
    await expectToServe(services.map(({ url }) => url));
    await Promise.all(services.map(({ stop }) => stop()));
  });
});
