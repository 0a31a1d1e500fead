import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.ts';

const sql = (...args: string[]) => {
  const { stdout, stderr, status } = spawnSync('node', ['scripts/sql.mjs', ...args], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { stdout, stderr, status };
};

test('npm run sql prints a statement as it is sent, and its plan', { timeout: 60_000 }, () => {
  const { stdout, status } = sql('looking/match_newest', '--plan');
  expect(status).toBe(0);
  expect(stdout).toContain('-- $2 queue_id\n');
  expect(stdout).toContain('\n    where queue_id = $2\n');
  expect(stdout).not.toMatch(/-- include|:queue_id|\{order\}/);
  expect(stdout).toMatch(/CTE looked: .*\n *Limit rows=\d+x1\n[\s\S]*Index Scan jobs_pkey/);
});

test('it names the statements that are like the one that it does not find', () => {
  const { stderr, status } = sql('match_n');
  expect(status).toBe(1);
  expect(stderr).toBe('There is no statement "match_n". There are:\nlooking/match_newest\n');
});
