import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { functions } from '../../src/postgres/functions.ts';
import { codeOf, ROOT, sources, textOf } from '../support/sources.ts';

/** schema.sql is generated for review, and never run; migrations and functions are no statements. */
const files = readdirSync(`${ROOT}sql`, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.sql') && !/^(schema\.sql$|migrations\/|functions\/)/.test(file))
  .sort();

const migrations = readdirSync(`${ROOT}sql/migrations`).sort();
const functionFiles = readdirSync(`${ROOT}sql/functions`).sort();

describe('statements', () => {
  test('each is a file of sql/ that the engine uses, and each file of sql/ is used', () => {
    const used = sources().flatMap((file) =>
      [...codeOf(file).matchAll(/\b(?:prepared|planned)\('([^']*)'\)/g)].map((match) => `${match[1]}.sql`),
    );
    expect([...new Set(used)].sort()).toEqual(files);
  });

  test('each begins with a comment that says what it does', () => {
    const bare = [
      ...files,
      ...migrations.map((file) => `migrations/${file}`),
      ...functionFiles.map((file) => `functions/${file}`),
    ].filter((file) => !/^-- \S+ \S/.test(textOf(`sql/${file}`)));
    expect(bare).toEqual([]);
  });

  test('each is one statement', () => {
    const many = files.filter((file) => {
      const text = textOf(`sql/${file}`).replaceAll(/--.*$/gm, '').trim();
      return text.indexOf(';') !== text.length - 1;
    });
    // Two objects that must be there before there is anything to record.
    expect(many).toEqual(['postgres/migrations_table.sql']);
  });

  test('no code has SQL in it', () => {
    const sql =
      /['"`]\s*(select\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s|(create|alter|drop|truncate)\s+(table|database|index|schema|role|or)\b)/i;
    expect(sources().filter((file) => sql.test(codeOf(file)))).toEqual([]);
  });
});

describe('functions', () => {
  test('each file makes the function of its name, which nobody may execute who was not granted it', () => {
    for (const { name, text } of functions) {
      expect(text).toMatch(new RegExp(`^create or replace function dibs\\.${name}\\(`, 'm'));
      expect(text).toMatch(new RegExp(`^revoke all on function dibs\\.${name} from public;$`, 'm'));
      expect(text.match(/^create/gm)).toHaveLength(1);
    }
    expect(functions.map(({ name }) => `${name}.sql`)).toEqual(functionFiles);
  });

  test('one that runs with the rights of its owner has a search_path of its own', () => {
    const trusted = functions.filter(({ text }) => /security definer/i.test(text));
    expect(trusted.map(({ name }) => name)).toEqual(['enqueue']);
    for (const { text } of trusted) expect(text).toContain('\nset search_path = pg_catalog, pg_temp\n');
  });

  test('there is one text that inserts jobs: the functions include that of the engine', () => {
    const inserting = [
      ...files.map((file) => `sql/${file}`),
      ...functionFiles.map((file) => `sql/functions/${file}`),
    ].filter((path) => /insert into dibs\.jobs/.test(textOf(path)));
    expect(inserting).toEqual(['sql/enqueue/insert.sql']);
    const including = functions.find(({ name }) => name === 'insert_jobs')?.text ?? '';
    expect(including).toMatch(/insert into dibs\.jobs[^;]*\n {2}on conflict [^;]* do nothing\n/);
    expect(including).not.toContain('-- include');
  });
});

describe('migrations', () => {
  test('are numbered from 1 on, without a gap', () => {
    expect(migrations.map((file) => Number(/^(\d{4})_\w+\.sql$/.exec(file)?.[1]))).toEqual(
      migrations.map((_, i) => i + 1),
    );
  });
});
