import { expect, test } from 'vitest';
import { namedOverOne, overSeveral, startsDibs, staysWithOne, testFiles } from '../support/overSeveral.ts';
import { textOf } from '../support/sources.ts';

/* Which test files `npm run test:databases` runs over three databases. */

const files = testFiles();

test('each test file that starts a Dibs is run over several databases, or named with a reason', () => {
  // Whatever speaks HTTP to a Dibs, however it was started.
  const speaking = files.filter((file) => /\b(startService|startReplica|buildApp)\(/.test(textOf(file)));
  expect(speaking.length).toBeGreaterThan(100);
  const several = new Set(overSeveral());
  const inNeither = speaking.filter((file) => !several.has(file) && !staysWithOne(file));
  expect(inNeither).toEqual([]);
});

test('what is named is there, and starts a Dibs', () => {
  const isNeeded = (name: string) =>
    files.some(
      (file) =>
        startsDibs(file) &&
        (name.endsWith('/') ? file.startsWith(`test/${name}`) : file === `test/${name}.test.ts`),
    );
  expect(namedOverOne().filter((name) => !isNeeded(name))).toEqual([]);
});

test('a file that starts a Dibs through a helper counts, and one that imports its types does not', () => {
  expect(startsDibs('test/mixed/mixed.test.ts')).toBe(true);
  expect(startsDibs('test/claim/step.test.ts')).toBe(false);
  expect(startsDibs('test/support/moves.ts')).toBe(false);
});
