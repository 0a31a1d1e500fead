import { rowsOf } from '../postgres/client.ts';
import { planned } from '../postgres/statements.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import type { Patient } from './patient.ts';

const statements = { settings: planned('doctor/settings'), connections: planned('doctor/connections') };

const RESERVED = ['superuser_reserved_connections', 'reserved_connections'];

/** Whether a replica's connections fit, and one more replica's, which a rolling restart needs. */
export async function checkConnections({ client, poolSize }: Patient): Promise<Finding[]> {
  const settings = await rowsOf(client, statements.settings, { names: ['max_connections', ...RESERVED] });
  const setting = (name: string) => Number(settings.find((row) => row.name === name)?.setting ?? 0);
  const [found] = await rowsOf(client, statements.connections);
  const count = (name: Exclude<keyof NonNullable<typeof found>, 'is_superuser' | 'sees_all'>) =>
    found?.[name] ?? 0;
  const limits = [
    {
      what: 'the server (max_connections, less the reserved ones)',
      most: RESERVED.reduce((most, name) => most - setting(name), setting('max_connections')),
      used: count('used'),
    },
    { what: 'the database (connection limit)', most: count('database_limit'), used: count('database_used') },
    { what: 'the role (connection limit)', most: count('role_limit'), used: count('role_used') },
  ].filter(({ most }) => most >= 0);
  const needed = poolSize + 1;
  const tightest = limits.reduce((a, b) => (b.most - b.used < a.most - a.used ? b : a));
  const smallest = limits.reduce((a, b) => (b.most < a.most ? b : a));
  const says = ({ what, most, used }: typeof tightest) =>
    `${used} of ${most} connections of ${what} are in use; a replica takes up to ${needed}.`;
  if (smallest.most < needed + 1)
    return [
      problem(
        'connections',
        says(smallest),
        'Not even one replica gets all its connections, and one more to migrate. Calls are answered 503 when it is busy.',
        'Raise the limit, or lower DATABASE_POOL_SIZE.',
      ),
    ];
  // The connection of this command ends with it.
  if (tightest.most - tightest.used + 1 < needed)
    return [
      warning(
        'connections',
        says(tightest),
        'A further replica does not fit, as a rolling restart has one.',
        'Raise the limit, or lower DATABASE_POOL_SIZE, or put a pooler between.',
      ),
    ];
  return [ok('connections', says(tightest))];
}
