import { readDatabaseUrl } from './databaseUrl.ts';
import type { Variables } from './variables.ts';

/** The database of DATABASE_URL. */
export const HOME = 'home';

/** One more PostgreSQL: `DATABASE_URL_<NAME>`. */
export interface OtherDatabase {
  /** In small letters. */
  name: string;
  url: string;
  /** For LISTEN, where a transaction pooler stands before it. */
  listenUrl: string | undefined;
}

const URL_OF = 'DATABASE_URL_';
const LISTEN_URL_OF = 'DATABASE_LISTEN_URL_';
const NAME = /^[A-Z0-9_]{1,32}$/;

/** Reads the databases besides that of DATABASE_URL, in the order of their names. */
export function readOtherDatabases(
  env: Record<string, string | undefined>,
  variables: Variables,
): OtherDatabase[] {
  const { given, problems } = variables;
  const namesOf = (prefix: string) =>
    Object.keys(env)
      .filter((name) => name.startsWith(prefix) && env[name])
      .map((name) => name.slice(prefix.length))
      .toSorted();
  const names = namesOf(URL_OF);
  for (const name of names) {
    if (!NAME.test(name))
      problems.push(`${URL_OF}${name}: the name behind ${URL_OF} must be 1 to 32 of A-Z 0-9 _`);
    else if (name.toLowerCase() === HOME)
      problems.push(`${URL_OF}${name}: "${HOME}" is the database of DATABASE_URL. Choose another name`);
  }
  for (const name of namesOf(LISTEN_URL_OF))
    if (!names.includes(name)) problems.push(`${LISTEN_URL_OF}${name} needs ${URL_OF}${name}`);
  if (names.length > 0 && !given('DATABASE_URL'))
    problems.push(`${URL_OF}${names[0]} needs DATABASE_URL: an embedded PostgreSQL has no others beside it`);
  return names.map((name) => ({
    name: name.toLowerCase(),
    url: readDatabaseUrl(variables, `${URL_OF}${name}`, env[URL_OF + name]) as string,
    listenUrl: readDatabaseUrl(variables, `${LISTEN_URL_OF}${name}`, env[LISTEN_URL_OF + name]),
  }));
}
