import { readdirSync, readFileSync } from 'node:fs';

/** A file of sql/migrations. */
export interface Migration {
  version: number;
  name: string;
  text: string;
  /**
   * The oldest Dibs that works with it, named by the last migration that it knows: the file says `-- oldest: 24`. Null:
   * none that does not know it.
   */
  oldest: number | null;
}

const folder = new URL('../../sql/migrations/', import.meta.url);

function read(file: string): Migration {
  const text = readFileSync(new URL(file, folder), 'utf8');
  const [, oldest] = /^-- oldest: (\d+)$/m.exec(text) ?? [];
  return {
    version: Number.parseInt(file, 10),
    name: file.slice(0, -'.sql'.length),
    text,
    oldest: oldest === undefined ? null : Number(oldest),
  };
}

export const migrations: Migration[] = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map(read);

/** The last migration of this Dibs. */
export const latest = migrations.at(-1)?.version ?? 0;
