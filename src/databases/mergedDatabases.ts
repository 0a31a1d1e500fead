import { databaseNotFound, isOutage } from '../errors.ts';
import type { Narrowed } from '../verbs/callers.ts';
import type { DatabaseStatus } from '../verbs/databases.ts';
import type { Verbs } from '../verbs.ts';
import { askAll, type Part } from './merged.ts';

/** What `home` keeps of all databases. */
export interface Accepting {
  /** Which of them take new queues. @throws Refusal `unavailable` */
  find(): Promise<Set<string>>;
  /** @throws Refusal `unavailable` */
  set(name: string, accepts: boolean): Promise<void>;
}

/** The databases, each as it tells of itself, and whether it takes new queues, as home says or last said. */
export function mergedDatabases(
  parts: readonly Part<'listDatabases'>[],
  accepting: Accepting,
): Pick<Verbs, 'listDatabases' | 'configureDatabase'> {
  const names = parts.map(({ name }) => name);
  let known = new Set(names);

  async function look(): Promise<void> {
    if (parts[0]?.isAway()) return;
    try {
      known = await accepting.find();
    } catch (error) {
      if (!isOutage(error)) throw error;
    }
  }

  async function listDatabases(request: Narrowed): Promise<DatabaseStatus[]> {
    const [{ answers }] = await Promise.all([
      askAll(parts, ({ verbs }) => verbs.listDatabases(request)),
      look(),
    ]);
    const told = new Map(answers.map(({ name, answer }) => [name, answer[0]]));
    return names.map((name): DatabaseStatus => {
      const own = told.get(name);
      return own ? { ...own, name, state: known.has(name) ? 'open' : 'closed' } : { name, state: 'away' };
    });
  }

  return {
    listDatabases,

    async configureDatabase({ name, accepts_queues }) {
      if (!names.includes(name)) throw databaseNotFound(name);
      await accepting.set(name, accepts_queues);
      const all = await listDatabases({});
      return all.find((database) => database.name === name) as DatabaseStatus;
    },
  };
}
