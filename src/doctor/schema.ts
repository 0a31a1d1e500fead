import { rowsOf } from '../postgres/client.ts';
import { functions } from '../postgres/functions.ts';
import { functionsMade, schemaState } from '../postgres/migrate.ts';
import { latest } from '../postgres/migrations.ts';
import { planned } from '../postgres/statements.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import type { Patient } from './patient.ts';

const statements = {
  connections: planned('doctor/connections'),
  applied: planned('postgres/migrations_applied'),
  lacks: planned('postgres/own_lacks'),
};

/** What the role of DATABASE_URL is. */
export async function checkRole({ client, isEmbedded }: Patient): Promise<Finding[]> {
  const [role] = await rowsOf(client, statements.connections);
  return [
    role?.is_superuser && !isEmbedded
      ? warning(
          'role',
          'The role of DATABASE_URL is a superuser.',
          'Whoever steals its password owns the whole server.',
          'Make a serving role: dibs migrate --grant-serve ROLE (docs/operating.md, "Roles").',
        )
      : ok('role', role?.is_superuser ? 'The server is the embedded one.' : 'The role is no superuser.'),
    role?.sees_all
      ? ok('sight', 'The role sees all transactions of the server.')
      : warning(
          'sight',
          'The role may not see since when transactions of other roles run.',
          'An old transaction is found only by the number of transactions since, which is late.',
          'Look again as another role, or: grant pg_read_all_stats to the role of DATABASE_URL.',
        ),
  ];
}

const asOwner = (owner: string | null) => (owner === null ? 'a role that may create schemas' : owner);

/** Whether this Dibs can serve with the schema and the privileges that are there. */
export async function checkSchema({ client }: Patient): Promise<Finding[]> {
  const { role, owner, has_migrations, may_use } = await schemaState(client);
  const unserved = 'No call can be served.';
  const migrateAs = `dibs migrate --grant-serve ${role}, as ${asOwner(owner)}.`;
  if (!has_migrations)
    return [
      problem('schema', 'The database has no schema dibs.', unserved, 'Run dibs migrate, or dibs serve.'),
    ];
  if (!may_use)
    return [problem('privileges', `The role ${role} may not use the schema dibs.`, unserved, migrateAs)];
  const [lacking] = await rowsOf(client, statements.lacks);
  const privileges = lacking?.lacks
    ? problem(
        'privileges',
        `The role ${role} lacks: ${lacking.lacks}.`,
        'Calls that need it are answered 503, and /readyz is 503.',
        migrateAs,
      )
    : ok('privileges', `The role ${role} may do all that dibs serve needs.`);
  if (lacking?.lacks) return [privileges];
  const [applied] = await rowsOf(client, statements.applied);
  const version = applied?.version ?? 0;
  const found = `The schema is at migration ${version}, this Dibs knows ${latest}.`;
  if (version < latest)
    return [privileges, problem('schema', found, 'This Dibs cannot serve yet.', `Run ${migrateAs}`)];
  if ((applied?.oldest ?? 0) > latest)
    return [
      privileges,
      problem('schema', found, 'A newer Dibs migrated it. This one does not work with it.', 'Run that Dibs.'),
    ];
  const made = await functionsMade(client);
  const missing = functions.filter(({ name }) => !made.has(name)).map(({ name }) => name);
  if (missing.length > 0)
    return [
      privileges,
      problem(
        'schema',
        `The schema lacks the functions ${missing.join(', ')}.`,
        unserved,
        `Run ${migrateAs}`,
      ),
    ];
  return [privileges, ok('schema', found)];
}
