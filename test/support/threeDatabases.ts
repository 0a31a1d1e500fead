import { afterAll, beforeAll } from 'vitest';
import { createDatabase, createOtherDatabase } from './database.ts';
import { type Service, startService } from './service.ts';

/** Two replicas of a Dibs over `home`, `a` and `b`, for the tests of a file. */
export function useThreeDatabases() {
  const databases: Record<string, Awaited<ReturnType<typeof createDatabase>>> = {};
  const replicas = {} as { one: Service; two: Service };
  beforeAll(async () => {
    databases.home = await createDatabase();
    databases.a = await createOtherDatabase();
    databases.b = await createOtherDatabase();
    const { home, a, b } = databases as Record<'home' | 'a' | 'b', { url: string }>;
    const options = { databaseUrl: home.url, others: { a: a.url, b: b.url } };
    replicas.one = await startService(options);
    replicas.two = await startService(options);
  });
  afterAll(async () => {
    await replicas.one.stop();
    await replicas.two.stop();
    for (const database of Object.values(databases)) await database.drop();
  });
  return { databases, replicas };
}
