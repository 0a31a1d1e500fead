import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './sources.ts';

const git = (...args: string[]) =>
  execFileSync('git', ['-C', ROOT, ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim();

/** The commit before the one that added the newest migration. Undefined where git can't tell, as in a shallow clone. */
export function commitBeforeNewestMigration(): string | undefined {
  const newest = readdirSync(join(ROOT, 'sql/migrations')).sort().at(-1);
  try {
    // A merge may have given it its number. Without these two options, git shows nothing of merges.
    const options = ['--first-parent', '-m', '--diff-filter=A', '--format=%H', '-1'];
    const added = git('log', ...options, '--', `sql/migrations/${newest}`);
    return git('rev-parse', '--verify', added === '' ? 'HEAD' : `${added}^`);
  } catch {
    return undefined;
  }
}

/** Builds Dibs as it was at a commit, in a folder of its own inside the clone. */
export function buildAt(commit: string): { folder: string; remove(): void } {
  mkdirSync(join(ROOT, '.work'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.work', 'old-'));
  const archive = execFileSync('git', ['-C', ROOT, 'archive', commit], { maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('npm', ['run', 'build'], { cwd: folder, stdio: 'ignore' });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The build of this Dibs with one more migration, in a folder of its own inside the clone: a newer Dibs. */
export function newerDibs(sql: string): { folder: string; remove(): void } {
  mkdirSync(join(ROOT, '.work'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.work', 'newer-'));
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  for (const name of ['node_modules', 'package.json', 'openapi'])
    symlinkSync(join(ROOT, name), join(folder, name));
  writeFileSync(join(folder, 'dist/sql/migrations/9999_newer.sql'), sql);
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
