import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { obstacle, released } from '../../scripts/release.mjs';
import { ROOT } from '../support/sources.ts';

const CHANGELOG =
  '# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Queues.\n\n## [0.1.0] - 2026-01-01\n\n- It.\n';
const clean = { tags: ['v0.1.0'], status: [], current: '0.1.0' };

const folder = mkdtempSync(join(tmpdir(), 'dibs-release-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a release', () => {
  test('puts what is unreleased under its version and day, and leaves the rest', () => {
    expect(released(CHANGELOG, '0.2.0', '2026-02-03')).toBe(
      CHANGELOG.replace('## [Unreleased]\n', '## [Unreleased]\n\n## [0.2.0] - 2026-02-03\n'),
    );
  });

  test.each([
    ['when nothing is unreleased', CHANGELOG.replace('- Queues.\n', ''), '0.2.0', 'nothing under'],
    ['of a version that the changelog has', CHANGELOG, '0.1.0', 'has 0.1.0 already'],
    ['without a place for it', CHANGELOG.replace('Unreleased', 'Soon'), '0.2.0', 'has no'],
  ])('is refused %s', (_, changelog, version, why) => {
    expect(() => released(changelog, version, '2026-02-03')).toThrow(why);
  });

  test.each([
    ['no version', undefined, {}, 'Usage'],
    ['no number', 'next', {}, 'Usage'],
    ['a version that has a tag', '0.1.0', {}, 'There is a tag'],
    ['an older version', '0.0.9', {}, 'does not come after'],
    ['changes that are not committed', '0.2.0', { status: [' M README.md'] }, 'not committed:\n M README.md'],
  ])('is refused with %s', (_, version, state, why) => {
    expect(obstacle(version, { ...clean, ...state })).toContain(why);
  });

  test.each(['0.1.0', '0.2.0', '1.0.0-rc.1'])('is allowed for %s', (version) => {
    expect(obstacle(version, { ...clean, tags: [] })).toBeUndefined();
  });

  test('that is only tried says each step and what the package would have, and changes nothing', () => {
    const git = (...args: string[]) => execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' });
    for (const file of ['scripts/release.mjs', 'package.json', 'CHANGELOG.md'])
      cpSync(join(ROOT, file), join(folder, file));
    git('init', '--quiet');
    git('add', '.');
    git('-c', 'user.name=me', '-c', 'user.email=me@dibs.test', 'commit', '--quiet', '--message', 'All');
    const before = git('log', '--all', '--decorate');
    const said = execFileSync(process.execPath, [join(folder, 'scripts/release.mjs'), '9.0.0', '--dry-run'], {
      encoding: 'utf8',
    });
    expect(said).toMatch(
      /would set the version 9\.0\.0[\s\S]*would commit, and tag v9\.0\.0[\s\S]*tgz: \d+ files/,
    );
    expect(said).toContain('Nothing was changed.');
    expect(git('status', '--porcelain')).toBe('');
    expect(git('log', '--all', '--decorate')).toBe(before);
  });
});
