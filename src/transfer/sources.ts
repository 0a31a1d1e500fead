import { readSql } from '../postgres/statements.ts';

/*
 * The other queues on PostgreSQL whose jobs an import can take. Their statements are in sql/sources. They name no schema:
 * the search path does.
 */

/** `file`: its files in sql/sources. */
const statementsOf = (file: string) => ({
  countsSql: readSql('sources/counts.sql', new Map([['source', file]])),
  cursorSql: readSql('sources/cursor.sql', new Map([['source', file]])),
  versionSql: readSql(`sources/${file}_version.sql`),
});

export interface Source extends ReturnType<typeof statementsOf> {
  /** What it is called in texts. */
  title: string;
  /** Its schema, if nobody names another one. */
  schema: string;
  /** The table of its jobs, and the table that says its version. */
  jobs: string;
  versions: string;
  /** The versions of its schema that Dibs knows: from, to. */
  known: readonly [number, number];
}

export const SOURCES = {
  'pg-boss': {
    title: 'pg-boss',
    schema: 'pgboss',
    jobs: 'job',
    versions: 'version',
    known: [24, 46],
    ...statementsOf('pg_boss'),
  },
  river: {
    title: 'River',
    schema: 'public',
    jobs: 'river_job',
    versions: 'river_migration',
    known: [4, 8],
    ...statementsOf('river'),
  },
  oban: {
    title: 'Oban',
    schema: 'public',
    jobs: 'oban_jobs',
    versions: 'oban_jobs',
    known: [9, 14],
    ...statementsOf('oban'),
  },
} satisfies Record<string, Source>;

export type SourceName = keyof typeof SOURCES;

export const isSourceName = (name: string): name is SourceName => Object.hasOwn(SOURCES, name);
