import { expect, test } from 'vitest';
import { textOf } from '../support/sources.ts';

test.each([
  ['docs/reliability.md', 30],
  ['docs/security.md', 15],
])('every test that %s names exists', (page, least) => {
  const named = [...textOf(page).matchAll(/\]\(\.\.\/(test\/\S+\.test\.ts)\) "([^"|]+)"/g)];
  expect(named.length).toBeGreaterThan(least);
  for (const [, file, title] of named) expect(textOf(file as string), file).toContain(title);
});
