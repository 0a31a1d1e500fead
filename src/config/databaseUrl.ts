import { databaseTls, TLS_PARAMETERS } from './databaseTls.ts';
import type { Variables } from './variables.ts';

/** The URL with the parameters that only the environment has, such as PGSSLMODE. */
function withEnvironment(given: string, text: Variables['text']): string {
  const url = new URL(given);
  const missing = TLS_PARAMETERS.filter((name) => !url.searchParams.has(name));
  for (const name of missing) {
    const value = text(`PG${name.toUpperCase()}`);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.searchParams.size === new URL(given).searchParams.size ? given : url.href;
}

/** Reads the URL of a database. A problem never shows the value: it may hold a password. */
export function readDatabaseUrl({ text, problems }: Variables, name: string): string | undefined {
  const given = text(name);
  if (given === undefined) return undefined;
  if (!URL.canParse(given) || !/^postgres(ql)?:$/.test(new URL(given).protocol)) {
    problems.push(`${name} must be a URL like postgres://user:password@host:5432/database`);
    return given;
  }
  const url = withEnvironment(given, text);
  try {
    databaseTls(new URL(url));
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message}`);
  }
  return url;
}
