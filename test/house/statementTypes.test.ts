import { afterAll, beforeAll, expect, test } from 'vitest';
import { statementNames, statementTypes } from '../../scripts/statementTypes.mjs';
import { planned } from '../../src/postgres/statements.ts';
import { createDatabase } from '../support/database.ts';
import { textOf } from '../support/sources.ts';

/*
 * src/postgres/statementTypes.ts says what each statement takes and gives. The compiler holds every caller against it, and
 * this test holds it against PostgreSQL.
 */

let database: Awaited<ReturnType<typeof createDatabase>>;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('the parameters and columns that TypeScript knows of each statement are those that PostgreSQL describes', async () => {
  const described = await statementTypes(database.url, planned);
  expect(textOf('src/postgres/statementTypes.ts')).toBe(described);
  expect(statementNames().length).toBeGreaterThan(60);
});

test('a statement with another column, or another parameter, is described otherwise', async () => {
  const changed = (name: string) => {
    const { text, parameters } = planned(name as 'settle/job');
    return name === 'settle/job'
      ? {
          text: text.replace('j.state,', 'j.state, j.queue_id,').replace('j.id = $2', 'j.id = $2 and $3'),
          parameters: [...parameters, 'extra'],
        }
      : { text, parameters };
  };
  const described = await statementTypes(database.url, changed);
  const [, job] = /'settle\/job': \{(.*?)\n {2}\};/s.exec(described) ?? [];
  expect(job).toContain('extra: boolean | null;');
  expect(job).toContain('queue_id: number;');
  expect(textOf('src/postgres/statementTypes.ts')).not.toBe(described);
});

test('a type of rows that differs from the columns does not compile', () => {
  interface Job {
    id: string;
    position: number;
  }
  // @ts-expect-error: the statement has no column of that name, and has others.
  planned('settle/job', { row: undefined as Job | undefined });
});
