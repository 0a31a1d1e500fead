import type { Variables } from './variables.ts';

/** Reads the URL of a database. A problem never shows the value: it may hold a password. */
export function readDatabaseUrl({ text, problems }: Variables, name: string): string | undefined {
  const given = text(name);
  if (given === undefined) return undefined;
  if (!URL.canParse(given) || !/^postgres(ql)?:$/.test(new URL(given).protocol))
    problems.push(`${name} must be a URL like postgres://user:password@host:5432/database`);
  return given;
}
