import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atEnd } from '../../bench/lib/cleanup.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const git = (...args) => execFileSync('git', ['-C', ROOT, ...args], { encoding: 'utf8' }).trim();

/** The commit before the one that added the newest migration. */
export function commitBeforeNewestMigration() {
  const newest = readdirSync(join(ROOT, 'sql/migrations')).sort().at(-1);
  const added = git(
    'log',
    '--first-parent',
    '-m',
    '--diff-filter=A',
    '--format=%H',
    '-1',
    '--',
    `sql/migrations/${newest}`,
  );
  return git('rev-parse', '--short', `${added}^`);
}

/** Builds Dibs as it was at a commit, in a folder inside the clone. `none`: takes this build. */
export function buildAt(commit) {
  if (commit === 'none') return { name: 'this build', folder: ROOT };
  mkdirSync(join(ROOT, '.work'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.work', 'old-'));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  const archive = execFileSync('git', ['-C', ROOT, 'archive', commit], { maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  execFileSync('npm', ['run', 'build'], { cwd: folder, stdio: 'ignore' });
  return { name: `commit ${commit}`, folder };
}
