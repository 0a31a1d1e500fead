import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { steady, stepsOf } from '../support/pageSessions.ts';
import { type Service, startService } from '../support/service.ts';

async function bash(
  script: string,
  env: Record<string, string>,
): Promise<{ status: number | null; stderr: string }> {
  const child = spawn('bash', ['-c', script], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const [status] = await once(child, 'close');
  return { status, stderr };
}

describe.each([
  { page: 'README.md', moreThan: 2 },
  { page: 'docs/tour.md', moreThan: 5 },
])('the session in $page', ({ page, moreThan }) => {
  let service: Service;
  let folder: string;
  beforeAll(async () => {
    service = await startService();
    folder = mkdtempSync(join(tmpdir(), 'dibs-readme-'));
  });
  afterAll(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  test('prints what the page shows, when it is typed as it stands there', async () => {
    const steps = stepsOf(page);
    const address = 'http://127.0.0.1:8080';
    expect(steps.length).toBeGreaterThan(moreThan);
    expect(steps.some((step) => step.typed.includes(address))).toBe(true);
    const url = await service.listen();
    // A step whose answer is a refusal ends with an error of curl. That is what `--fail-with-body` is for.
    const refusals = steps.flatMap(({ printed }) => /"status": ?(4\d\d)/.exec(printed)?.[1] ?? []);
    const script = steps
      .map(({ typed, printed }, i) => {
        const ending = /"status": ?4/.test(printed) ? ' || true' : '';
        return `{\n${typed.replaceAll(address, url)}} > ${folder}/${i}${ending}\n`;
      })
      .join('');
    const { status, stderr } = await bash(`set -euo pipefail\n${script}`, {
      // `npm start` and `dibs keys` have the same database by themselves.
      DATABASE_URL: service.databaseUrl,
    });
    expect(stderr).toBe(
      refusals.map((status) => `curl: (22) The requested URL returned error: ${status}\n`).join(''),
    );
    expect(status).toBe(0);
    for (const [i, { printed }] of steps.entries())
      expect(steady(readFileSync(`${folder}/${i}`, 'utf8'))).toBe(steady(printed));
  });
});
