import { afterAll, beforeAll } from 'vitest';
import { createDatabase, createOtherDatabase } from './database.ts';
import { type Service, startService } from './service.ts';

/** Two replicas of a Dibs over `home`, `a` and `b`, for the tests of a file. */
export function useThreeDatabases() {
  const databases: Record<string, Awaited<ReturnType<typeof createDatabase>>> = {};
  const replicas = {} as { one: Service; two: Service };
  /** How another replica of them is started. */
  function withAll() {
    const { home, a, b } = databases as Record<'home' | 'a' | 'b', { url: string }>;
    return { databaseUrl: home.url, others: { a: a.url, b: b.url } };
  }
  beforeAll(async () => {
    databases.home = await createDatabase();
    databases.a = await createOtherDatabase();
    databases.b = await createOtherDatabase();
    replicas.one = await startService(withAll());
    replicas.two = await startService(withAll());
  });
  afterAll(async () => {
    await replicas.one.stop();
    await replicas.two.stop();
    for (const database of Object.values(databases)) await database.drop();
  });
  return { databases, replicas, withAll };
}
