import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { filesOf } from './pageFiles.ts';
import { ROOT, textOf } from './sources.ts';

/** A step of the session on a page: what is typed, and what it prints. */
export interface Step {
  typed: string;
  printed: string;
}

/** What is typed stands in a block of bash. What it prints follows at once, as JSON or text. */
export const stepsOf = (page: string): Step[] =>
  [...textOf(page).matchAll(/^```bash\n(.*?)^```\n(?:^```(?:json|text)\n(.*?)^```\n)?/gms)].map((match) => ({
    typed: match[1] as string,
    printed: match[2] ?? '',
  }));

/** A text without the ids and times, which differ from run to run. */
export const steady = (text: string) =>
  text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '<time>');

/**
 * Types the session of a page at the Dibs at `url`, in a folder that has the files of the page and nothing else. What a
 * step leaves running is stopped at the end. Returns the steps, each with what it printed, without ids and times.
 * @throws with what was said, when a step fails.
 */
export async function playPage(page: string, url: string): Promise<(Step & { came: string })[]> {
  const folder = mkdtempSync(join(tmpdir(), 'dibs-page-'));
  for (const name of ['bin', 'printed', 'files']) mkdirSync(`${folder}/${name}`);
  writeFileSync(`${folder}/bin/dibs`, `#!/bin/sh\nexec node '${ROOT}dist/main.js' "$@"\n`);
  chmodSync(`${folder}/bin/dibs`, 0o755);
  for (const { name, text } of filesOf(textOf(page))) writeFileSync(`${folder}/files/${name}`, text);

  const steps = stepsOf(page);
  const typed = steps.map(
    (step, i) => `{\n${step.typed.replaceAll('http://127.0.0.1:8080', url)}} > ../printed/${i}\n`,
  );
  const ending = 'left=$(jobs -pr)\n[ -z "$left" ] || kill $left\nwait\n';
  const child = spawn('bash', ['-c', `set -euo pipefail\n${typed.join('')}${ending}`], {
    cwd: `${folder}/files`,
    env: { ...process.env, DIBS_URL: url, PATH: `${folder}/bin:${process.env.PATH}` },
    stdio: ['ignore', 'ignore', 'pipe'],
    // What it starts is in its group.
    detached: true,
  });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All have ended.
    }
    rmSync(folder, { recursive: true, force: true });
  });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const [status] = await once(child, 'exit');
  if (status !== 0) throw new Error(`${page} ended with ${status}:\n${said}`);
  return steps.map(({ typed, printed }, i) => ({
    typed,
    printed: steady(printed),
    came: steady(readFileSync(`${folder}/printed/${i}`, 'utf8')),
  }));
}
