import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

const statements = new URL('../../sql/', import.meta.url);
const folder = new URL('functions/', statements);

const INCLUDE = /^ *-- include ([\w/]+\.sql)$/gm;
/** What a statement says when it is the body of a function, and not otherwise. */
const ONLY_THERE = /-- only there: /g;

const included = (_: string, file: string): string =>
  readFileSync(new URL(file, statements), 'utf8').replaceAll(ONLY_THERE, '');

/** A function of the database, made anew whenever its text changes. */
export interface DatabaseFunction {
  name: string;
  text: string;
  checksum: string;
}

/** The functions of sql/functions. */
export const functions: DatabaseFunction[] = readdirSync(folder)
  .filter((file) => file.endsWith('.sql'))
  .sort()
  .map((file) => {
    const text = readFileSync(new URL(file, folder), 'utf8').replaceAll(INCLUDE, included);
    return {
      name: file.slice(0, -'.sql'.length),
      text,
      checksum: createHash('sha256').update(text).digest('hex'),
    };
  });
