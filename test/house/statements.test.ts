import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { functions } from '../../src/postgres/functions.ts';
import { readSql } from '../../src/postgres/statements.ts';
import { codeOf, ROOT, sources, textOf } from '../support/sources.ts';

/**
 * schema.sql is generated for review, and never run. Migrations, functions and fragments are no statements. Those of
 * sources/ are for the tables of other queues.
 */
const files = readdirSync(`${ROOT}sql`, { recursive: true, encoding: 'utf8' })
  .filter(
    (file) =>
      file.endsWith('.sql') && !/^(schema\.sql$|migrations\/|functions\/|shared\/|sources\/)/.test(file),
  )
  .sort();

const fragments = readdirSync(`${ROOT}sql/shared`).sort();

const migrations = readdirSync(`${ROOT}sql/migrations`).sort();
const functionFiles = readdirSync(`${ROOT}sql/functions`).sort();

describe('statements', () => {
  // COPY is sent as a text: it takes no parameters.
  test('each is a file of sql/ that the engine uses, and each file of sql/ is used', () => {
    const used = sources().flatMap((file) =>
      [
        ...codeOf(file).matchAll(
          /\b(?:(?:prepared|planned)\(\s*'([^']*)'|readSql\('(relocation\/\w+)\.sql'\))/g,
        ),
      ].map(([, statement, copy]) => `${statement ?? copy}.sql`),
    );
    expect([...new Set(used)].sort()).toEqual(files);
  });

  test('each begins with a comment that says what it does', () => {
    const bare = [
      ...files,
      ...migrations.map((file) => `migrations/${file}`),
      ...functionFiles.map((file) => `functions/${file}`),
      ...fragments.map((file) => `shared/${file}`),
    ].filter((file) => !/^-- \S+ \S/.test(textOf(`sql/${file}`)));
    expect(bare).toEqual([]);
  });

  test('each of sql/sources is read by src/transfer/sources.ts', () => {
    const named = [...codeOf('src/transfer/sources.ts').matchAll(/statementsOf\('(\w+)'\)/g)].map(
      ([, name]) => name,
    );
    const read = [
      'counts.sql',
      'cursor.sql',
      ...named.flatMap((name) => [`${name}.sql`, `${name}_version.sql`]),
    ];
    expect(read.sort()).toEqual(readdirSync(`${ROOT}sql/sources`).sort());
  });

  test('each migration says which is the oldest Dibs that works with it', () => {
    // Those before are in no danger: no Dibs that asks knows fewer.
    const silent = migrations.filter(
      (file) => Number.parseInt(file, 10) > 24 && !/^-- oldest: \d+$/m.test(textOf(`sql/migrations/${file}`)),
    );
    expect(silent).toEqual([]);
  });

  test('each is one statement', () => {
    const many = files.filter((file) => {
      const text = readSql(file).replaceAll(/--.*$/gm, '').trim();
      return text.indexOf(';') !== text.length - 1;
    });
    expect(many).toEqual([]);
  });

  test('each fragment is put in somewhere, and none stands alone', () => {
    const including = [...files, ...functionFiles.map((file) => `functions/${file}`)].concat(
      fragments.map((file) => `shared/${file}`),
    );
    const included = including.flatMap((file) =>
      [...textOf(`sql/${file}`).matchAll(/^ *-- include (\S+)(.*)/gm)].flatMap(
        ([, name = '', values = '']) => [
          ...(name.includes('{') ? [] : [name]),
          // A fragment may be told which other one it puts in: `-- include shared/{consumer}.sql`.
          ...[...values.matchAll(/=(\w+)/g)]
            .map(([, value]) => `${value}.sql`)
            .filter((fragment) => fragments.includes(fragment))
            .map((fragment) => `shared/${fragment}`),
        ],
      ),
    );
    expect([...new Set(included)].sort()).toEqual(fragments.map((file) => `shared/${file}`));
  });

  test('a fragment takes the values of its places: no other, and none is left out', () => {
    const cut = { table: 'dibs.audit', owner: 'actor', type: 'text' };
    const read = (values: object) => () => readSql('shared/cut.sql', new Map(Object.entries(values)));
    expect(read(cut)()).toContain('select id, actor as owner from dibs.audit where');
    expect(read({ ...cut, order: 'desc' })).toThrow(
      'shared/cut.sql takes the values owner,table,type, and gets order,owner,table,type',
    );
    expect(read({ table: 'dibs.audit' })).toThrow('and gets table');
  });

  test('the columns of a job, and the jobs of a batch, are named in one place', () => {
    const naming = (pattern: RegExp) =>
      [...files, ...fragments.map((file) => `shared/${file}`)].filter((file) =>
        pattern.test(textOf(`sql/${file}`).replaceAll(/^ *--.*$/gm, '')),
      );
    const isWritten = (file: string) => !/^-- Generated from/m.test(textOf(`sql/${file}`));
    expect(naming(/\bmax_attempts, j?\.?deliveries\b/).filter(isWritten)).toEqual([]);
    expect(naming(/between \(:ids::uuid\[\]\)\[1\][\s\S]*and j\.lease_token/)).toEqual([]);
    expect(naming(/deliveries = j\.deliveries \+ 1/)).toEqual(['shared/claim_lease.sql']);
    expect(naming(/from dibs\.claim_log\n/)).toEqual([
      'claim/limit_upkeep.sql',
      'shared/claim_allowance.sql',
      'shared/rate_limit_opens.sql',
    ]);
  });

  test('each that may end an attempt or change a job sets a column for which the triggers of the history and of batches look', () => {
    const settingOf = (file: string) =>
      /update dibs\.jobs\b([\s\S]*?)\bwhere\b/.exec(readSql(file).replaceAll(/--.*$/gm, ''))?.[1] ?? '';
    const unseen = files.filter((file) => {
      const setting = settingOf(file);
      return (
        /\b(state|lease_token|attempt|cancel_requested) = /.test(setting) &&
        !/\b(finished_at|queue_id) = /.test(setting)
      );
    });
    // These lease a job, give a group its head, or make a job due. A change of a job notes itself.
    expect(unseen).toEqual([
      'changing/change.sql',
      'claim/fair.sql',
      'claim/front.sql',
      'claim/heads.sql',
      'claim/limited.sql',
      'claim/one.sql',
      'claim/plain.sql',
      'groups/advance.sql',
      'groups/advance_many.sql',
      'groups/advance_several.sql',
      'groups/lead.sql',
      'groups/narrow.sql',
      'groups/pause_head.sql',
      'groups/resume_head.sql',
      'maintenance/promote.sql',
    ]);
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

  test('no function stands in a migration alone: a change of its file reaches every database', () => {
    const made = textOf('sql/schema.sql').matchAll(/^CREATE OR REPLACE FUNCTION dibs\.(\w+)\(/gm);
    expect([...made].map(([, name]) => `${name}.sql`)).toEqual(functionFiles);
  });

  test('one that runs with the rights of its owner has a search_path of its own', () => {
    const trusted = functions.filter(({ text }) => /security definer/i.test(text));
    expect(trusted.map(({ name }) => name)).toEqual([
      'adopt',
      'dead_letter',
      'enqueue',
      'enqueue_follower',
      'next_queue_id',
    ]);
    for (const { text } of trusted) expect(text).toContain('\nset search_path = pg_catalog, pg_temp\n');
  });

  test('one text inserts jobs: the engine and the functions put it in. Others put jobs of any state in: an import, and a queue that did not leave', () => {
    const texts = [
      ...files,
      ...functionFiles.map((file) => `functions/${file}`),
      ...fragments.map((file) => `shared/${file}`),
    ];
    const inserting = texts.filter((file) => /insert into dibs\.jobs\b/.test(textOf(`sql/${file}`)));
    expect(inserting).toEqual([
      'relocation/put_back.sql',
      'transfer/import_jobs.sql',
      'shared/insert_jobs.sql',
    ]);
    const including = functions.find(({ name }) => name === 'insert_unique')?.text ?? '';
    expect(including).toMatch(/insert into dibs\.jobs\b[^;]*\n {6}on conflict [^;]* do nothing;\n/);
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
