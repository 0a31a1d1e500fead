import { checkHosts, hostUrlsOf } from './databaseHosts.ts';
import { databaseTls, TLS_PARAMETERS } from './databaseTls.ts';
import type { Variables } from './variables.ts';

/** The URL with the parameters that only the environment has, such as PGSSLMODE. */
function withEnvironment(whole: string, given: Variables['given']): string {
  const { searchParams } = new URL(hostUrlsOf(whole)[0]);
  const added = new URLSearchParams();
  for (const name of TLS_PARAMETERS) {
    const value = given(`PG${name.toUpperCase() as Uppercase<typeof name>}`);
    if (value !== undefined && !searchParams.has(name)) added.set(name, value);
  }
  return added.size === 0 ? whole : `${whole}${whole.includes('?') ? '&' : '?'}${added}`;
}

const isUrl = (url: string) => URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol);

/** Reads the URL of a database. A problem never shows the value: it may hold a password. */
export function readDatabaseUrl(
  { given, problems }: Variables,
  name: string,
  whole: string | undefined,
): string | undefined {
  if (!whole) return undefined;
  if (!hostUrlsOf(whole).every(isUrl)) {
    problems.push(
      `${name} must be a URL like postgres://user:password@host:5432/database, or postgres://user:password@host1:5432,host2:5432/database`,
    );
    return whole;
  }
  try {
    checkHosts(whole);
    const url = withEnvironment(whole, given);
    for (const hostUrl of hostUrlsOf(url)) databaseTls(new URL(hostUrl));
    return url;
  } catch (error) {
    problems.push(`${name}: ${(error as Error).message}`);
    return whole;
  }
}
