import { afterAll, beforeAll, expect, test } from 'vitest';
import { type createDatabase, createOtherDatabase } from '../support/database.ts';
import { ended, startReplica } from '../support/replica.ts';

type Variable = 'DATABASE_URL' | 'DATABASE_URL_B' | 'DATABASE_URL_C';

const made: Awaited<ReturnType<typeof createDatabase>>[] = [];
let env: Record<Variable, string>;
let empty: string;
beforeAll(async () => {
  for (let i = 0; i < 4; i++) made.push(await createOtherDatabase());
  const [home, b, c, other] = made.map(({ url }) => url) as [string, string, string, string];
  env = { DATABASE_URL: home, DATABASE_URL_B: b, DATABASE_URL_C: c };
  empty = other;
  const first = await startReplica(env);
  await first.end('SIGTERM');
});
afterAll(async () => {
  for (const { drop } of made) await drop();
});

test.each<[string, () => Record<string, string>, string]>([
  [
    'to the database of another name',
    () => ({ DATABASE_URL_C: env.DATABASE_URL_B }),
    'DATABASE_URL_C leads to the database "b" of this Dibs, and DATABASE_URL_B is for that one.',
  ],
  [
    'to home',
    () => ({ DATABASE_URL_C: env.DATABASE_URL }),
    'DATABASE_URL_C and DATABASE_URL lead to the same database.',
  ],
  [
    'to another database than before',
    () => ({ DATABASE_URL_C: empty }),
    'DATABASE_URL_C leads to another database than before.',
  ],
  [
    'nowhere, of a new database',
    () => ({ DATABASE_URL_D: 'postgres://127.0.0.1:1/dibs' }),
    'The database "d" cannot serve: connect ECONNREFUSED 127.0.0.1:1.',
  ],
])('a start with a URL that leads %s ends at once, with one line that names it', async (_, given, line) => {
  expect(await ended({ ...env, ...given() })).toEqual({ code: 1, said: `dibs: ${line}\n` });
});
