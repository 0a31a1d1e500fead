import { expect, test } from 'vitest';
import { Turns } from '../../src/postgres/turns.ts';

test('all who wait are taken at once, however long their line is', () => {
  const line = new Turns<number>();
  const all = Array.from({ length: 200_000 }, (_, n) => n);
  for (const n of all) line.push(['queue', 'caller'], n);
  expect(line.takeIf(() => true)).toEqual(all);
  expect(line.size).toBe(0);
});
