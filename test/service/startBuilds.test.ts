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
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase } from '../support/database.ts';
import { http } from '../support/replica.ts';
import { served } from '../support/served.ts';
import { ROOT } from '../support/sources.ts';

/* `npm start` builds in a clone of its own, again and again. */

const pids: number[] = [];

/** Each start may build first. A slow machine takes minutes for that. */
const TWENTY_MINUTES = 1_200_000;

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
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It has ended.
    }
  }
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
