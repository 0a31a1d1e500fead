import { afterAll, beforeAll, expect, test } from 'vitest';
import { withLongEncoded } from '../../src/postgres/longParameters.ts';
import { callOf } from '../../src/postgres/pipeline.ts';
import { type Database, openDatabase } from '../../src/postgres/pool.ts';
import type { Statement } from '../../src/postgres/statements.ts';
import { type TextArray, textArray } from '../../src/postgres/textArray.ts';
import { createDatabase } from '../support/database.ts';
import { passesOf } from '../support/passes.ts';

const MIB = 2 ** 20;

interface Sent {
  number: number;
  texts: TextArray;
  text: string;
}
/** A statement with parameters that may be long, and one beside them that never is. */
const echo: Statement<Sent, { number: number; texts: string[]; text: string }> = {
  text: 'select $1::integer as number, $2::text[] as texts, $3::text as text',
  parameters: ['number', 'texts', 'text'],
};
const named = { ...echo, name: 'echo' };

let database: Awaited<ReturnType<typeof createDatabase>>;
let db: Database;
beforeAll(async () => {
  database = await createDatabase();
  db = openDatabase(database.url, 2);
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

const ODD = ['', null, 'plain', '"\\{}",NULL', 'NULL', 'ü語😀', '\n\t\u0001', ' '];

const SENT: [string, (string | null)[], string][] = [
  ['short', ODD, 'short'],
  ['none at all', [], ''],
  ['many', Array.from({ length: 20_000 }, (_, i) => `${i}"\\`), 'many'],
  ['long ones', [...ODD, '"'.repeat(MIB), null, '語'.repeat(MIB), ...ODD], 'long'],
  ['odd ones beside a long text', ODD, `${'x'.repeat(MIB)}"`],
  // Each piece would end between the two units of a character.
  ['pairs of units', [`x${'😀'.repeat(MIB / 2)}`], `x${'😀'.repeat(MIB / 2)}`],
];

test.each(SENT)('texts arrive as they were sent: %s', async (_, texts, text) => {
  for (const statement of [echo, named, named]) {
    const [row] = await db.query(statement, { number: 7, texts: textArray(texts), text });
    expect(row?.number).toBe(7);
    expect(row?.texts).toEqual(texts);
    expect(row?.text === text).toBe(true);
  }
});

test('long texts arrive in a transaction, and beside other statements of a round trip', async () => {
  const texts = ['"'.repeat(MIB)];
  const sent = () => ({ number: 1, texts: textArray(texts), text: 'x' });
  const inTransaction = await db.transaction((transaction) => transaction.query(named, sent()));
  const together = await db.pipeline([
    callOf(named, { ...sent(), texts: textArray([]) }),
    callOf(named, sent()),
  ]);
  expect(inTransaction[0]?.texts).toEqual(texts);
  expect(together.map(([row]) => (row as { texts: string[] }).texts.length)).toEqual([0, 1]);
});

test('a statement that fails with long texts leaves its connection as it was', async () => {
  const one = openDatabase(database.url, 1);
  const bad = { ...named, name: 'bad', text: echo.text.replace('$3::text ', '($3::text::integer)::text ') };
  const sent = { number: 1, texts: textArray(['x'.repeat(MIB)]), text: 'no number' };
  await expect(one.query(bad, sent)).rejects.toThrow('invalid input syntax');
  const [row] = await one.query(named, sent);
  expect(row?.texts[0]).toHaveLength(MIB);
  await one.close();
});

test('long parameters are encoded in slices, and short ones at once', async () => {
  const encode = (texts: TextArray, text = '') => withLongEncoded([callOf(echo, { number: 1, texts, text })]);
  const many = textArray(Array.from({ length: 1000 }, () => '"'.repeat(16_000)));
  expect(await passesOf(() => encode(many))).toBeGreaterThan(50);
  expect(await passesOf(() => encode(textArray([]), 'x'.repeat(16 * MIB)))).toBeGreaterThan(50);
  expect(encode(textArray(['short']), 'short')).not.toBeInstanceOf(Promise);
});
