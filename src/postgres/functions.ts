import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readSql } from './statements.ts';

/** A function of the database. Dibs makes it again whenever its text has changed. */
export interface DatabaseFunction {
  name: string;
  text: string;
  checksum: string;
}

/** The functions of sql/functions. */
export const functions: DatabaseFunction[] = readdirSync(new URL('../../sql/functions/', import.meta.url))
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => {
    const text = readSql(`functions/${file}`);
    return {
      name: file.slice(0, -'.sql'.length),
      text,
      checksum: createHash('sha256').update(text).digest('hex'),
    };
  });
