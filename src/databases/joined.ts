import { migrateOrCheck } from '../postgres/migrate.ts';
import { openDatabase } from '../postgres/pool.ts';
import { outageOf, startErrorOf } from './named.ts';
import { checkIn, readRegistry } from './registry.ts';

/**
 * Makes sure that these are all databases of one Dibs, and migrated, as the start of a replica does. New ones become it.
 * @throws StartError when they are not
 */
export async function joined(homeUrl: string, others: { name: string; url: string }[]): Promise<void> {
  await migrateOrCheck(homeUrl);
  const home = openDatabase(homeUrl, 2);
  try {
    const registry = await readRegistry(
      home,
      others.map(({ name }) => name),
    );
    for (const { name, url } of others) {
      await migrateOrCheck(url).catch(startErrorOf(name)).catch(outageOf(name));
      const db = openDatabase(url, 2);
      await checkIn(home, registry, name, db).catch(outageOf(name)).finally(db.close);
    }
  } finally {
    await home.close();
  }
}
