import { dropWith, onServer, TEMPLATE, urlOf } from './database.ts';

/** `npm run test:databases` runs each service of a test over so many databases. */
const DATABASES = Number(process.env.TEST_DATABASES ?? 1);
const NAMES = ['a', 'b', 'c', 'd'].slice(0, DATABASES - 1);

const nameOf = (url: string) => new URL(url).pathname.slice(1);
const made = new Map<string, Promise<Record<string, string>>>();

async function make(url: string): Promise<Record<string, string>> {
  const others: Record<string, string> = {};
  for (const name of NAMES) {
    const database = `${nameOf(url)}_${name}`;
    await onServer(url, `create database ${database} encoding 'UTF8' template ${TEMPLATE}`);
    dropWith(nameOf(url), database);
    others[name] = urlOf(url, database);
    // Copies of the template have its id.
    await onServer(others[name], 'update dibs.this_database set id = gen_random_uuid()');
  }
  return others;
}

/** The databases beside the one of this URL, the same ones for all replicas of it. None, unless the run is about several. */
export async function othersOf(url: string): Promise<Record<string, string>> {
  if (NAMES.length === 0) return {};
  const home = nameOf(url);
  const known = made.get(home) ?? make(url);
  made.set(home, known);
  return known;
}
