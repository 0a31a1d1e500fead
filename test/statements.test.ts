import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { codeOf, ROOT, sources, textOf } from './support/sources.ts';

/** schema.sql is generated for review, and never run. */
const files = readdirSync(`${ROOT}sql`)
  .filter((file) => file.endsWith('.sql') && file !== 'schema.sql')
  .sort();

const migrations = readdirSync(`${ROOT}sql/migrations`).sort();

describe('statements', () => {
  test('each is a file of sql/ that the engine uses, and each file of sql/ is used', () => {
    const used = sources().flatMap((file) =>
      [...codeOf(file).matchAll(/\b(?:prepared|planned)\('([^']*)'\)/g)].map((match) => `${match[1]}.sql`),
    );
    expect([...new Set(used)].sort()).toEqual(files);
  });

  test('each begins with a comment that says what it does', () => {
    const bare = [...files, ...migrations.map((file) => `migrations/${file}`)].filter(
      (file) => !/^-- \S+ \S/.test(textOf(`sql/${file}`)),
    );
    expect(bare).toEqual([]);
  });

  test('each is one statement', () => {
    const many = files.filter((file) => {
      const text = textOf(`sql/${file}`).replaceAll(/--.*$/gm, '').trim();
      return text.indexOf(';') !== text.length - 1;
    });
    // Two objects that must be there before there is anything to record.
    expect(many).toEqual(['migrations_table.sql']);
  });

  test('no code has SQL in it', () => {
    const sql =
      /['"`]\s*(select\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|with\s+\w+\s+as\s|(create|alter|drop|truncate)\s+(table|database|index|schema|role|or)\b)/i;
    expect(sources().filter((file) => sql.test(codeOf(file)))).toEqual([]);
  });
});

describe('migrations', () => {
  test('are numbered from 1 on, without a gap', () => {
    expect(migrations.map((file) => Number(/^(\d{4})_\w+\.sql$/.exec(file)?.[1]))).toEqual(
      migrations.map((_, i) => i + 1),
    );
  });
});
