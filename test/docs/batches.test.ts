import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { steady, stepsOf } from '../support/pageSessions.ts';
import { type Service, startService } from '../support/service.ts';
import { ROOT } from '../support/sources.ts';

const PAGE = 'docs/batches.md';

let service: Service;
let folder: string;
let child: ChildProcess | undefined;
beforeAll(async () => {
  service = await startService();
  folder = mkdtempSync(join(tmpdir(), 'dibs-batches-'));
  for (const name of ['bin', 'printed', 'empty']) mkdirSync(`${folder}/${name}`);
  writeFileSync(`${folder}/bin/dibs`, `#!/bin/sh\nexec node '${ROOT}dist/main.js' "$@"\n`);
  chmodSync(`${folder}/bin/dibs`, 0o755);
});
afterAll(async () => {
  try {
    // The workers that the session starts are in its group.
    if (child?.pid) process.kill(-child.pid, 'SIGKILL');
  } catch {
    // All have ended.
  }
  await service.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the session in docs/batches.md prints what the page shows, when it is typed as it stands there', async () => {
  const steps = stepsOf(PAGE);
  expect(steps.filter(({ printed }) => printed !== '').length).toBeGreaterThan(10);
  const url = await service.listen();
  const typed = steps.map(
    (step, i) => `{\n${step.typed.replaceAll('http://127.0.0.1:8080', url)}} > ../printed/${i}\n`,
  );
  child = spawn('bash', ['-c', `set -euo pipefail\n${typed.join('')}kill $(jobs -p)\nwait\n`], {
    cwd: `${folder}/empty`,
    env: { ...process.env, DIBS_URL: url, PATH: `${folder}/bin:${process.env.PATH}` },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let said = '';
  child.stderr?.on('data', (chunk) => {
    said += chunk;
  });
  const [status] = await once(child, 'exit');
  expect(status, said).toBe(0);
  for (const [i, { typed, printed }] of steps.entries())
    expect(steady(readFileSync(`${folder}/printed/${i}`, 'utf8')), typed).toBe(steady(printed));
});
