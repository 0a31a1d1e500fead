import { expect, test } from 'vitest';
import { textOf } from '../support/sources.ts';

test('every test that docs/reliability.md names exists', () => {
  const named = [...textOf('docs/reliability.md').matchAll(/\]\(\.\.\/(test\/\S+\.test\.ts)\) "([^"|]+)"/g)];
  expect(named.length).toBeGreaterThan(30);
  for (const [, file, title] of named) expect(textOf(file as string), file).toContain(title);
});
