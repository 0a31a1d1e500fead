import { databaseTls, TLS_PARAMETERS } from './databaseTls.ts';
import type { Variables } from './variables.ts';

/** The URL with the parameters that only the environment has, such as PGSSLMODE. */
function withEnvironment(whole: string, given: Variables['given']): string {
  const url = new URL(whole);
  const missing = TLS_PARAMETERS.filter((name) => !url.searchParams.has(name));
  for (const name of missing) {
    const value = given(`PG${name.toUpperCase() as Uppercase<typeof name>}`);
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.searchParams.size === new URL(whole).searchParams.size ? whole : url.href;
}

/** Reads the URL of a database. A problem never shows the value: it may hold a password. */
export function readDatabaseUrl(
  { text, given, problems }: Variables,
  name: 'DATABASE_URL' | 'DATABASE_LISTEN_URL',
): string | undefined {
  const whole = text(name);
  if (whole === undefined) return undefined;
  if (!URL.canParse(whole) || !/^postgres(ql)?:$/.test(new URL(whole).protocol)) {
    problems.push(`${name} must be a URL like postgres://user:password@host:5432/database`);
    return whole;
  }
  const url = withEnvironment(whole, given);
  try {
    databaseTls(new URL(url));
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message}`);
  }
  return url;
}
