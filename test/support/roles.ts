import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { migrate } from '../../src/postgres/migrate.ts';
import { asRole, createEmptyDatabase, onServer } from './database.ts';

/**
 * A database as an operator should make it: its owner is no superuser, PUBLIC may do nothing in it, and the owner has
 * migrated it. `nobody` may connect, and that is all.
 */
export async function databaseWithRoles() {
  const serverUrl = inject('postgresUrl');
  const tag = randomBytes(4).toString('hex');
  const names = {
    owner: `owner_${tag}`,
    serve: `serve_${tag}`,
    produce: `produce_${tag}`,
    nobody: `nobody_${tag}`,
  };
  const all = Object.values(names);
  for (const name of all) await onServer(serverUrl, `create role ${name} login password '${name}'`);
  const { url, drop } = await createEmptyDatabase();
  const database = new URL(url).pathname.slice(1);
  await onServer(serverUrl, `alter database ${database} owner to ${names.owner}`);
  await onServer(serverUrl, `revoke all on database ${database} from public`);
  await onServer(serverUrl, `grant connect on database ${database} to ${all.slice(1).join(', ')}`);
  const urlAs = (role: keyof typeof names) => asRole(url, names[role]);
  await migrate(urlAs('owner'), { serve: [names.serve], produce: [names.produce] });
  return {
    ...names,
    /** As a superuser. */
    url,
    urlAs,
    async drop() {
      await drop();
      for (const name of all) await onServer(serverUrl, `drop role if exists ${name}`);
    },
  };
}

export type DatabaseWithRoles = Awaited<ReturnType<typeof databaseWithRoles>>;
