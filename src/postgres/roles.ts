import type pg from 'pg';
import { StartError } from '../errors.ts';
import { planned, queryOf } from './statements.ts';

const statements = {
  granted: planned('postgres/granted_roles'),
  serving: planned('postgres/serving_grants'),
  producing: planned('postgres/producing_grants'),
  revokes: planned('postgres/public_revokes'),
  exists: planned('postgres/role_exists'),
};

/** Roles that may serve, and roles that may only call `dibs.enqueue`. */
export interface Grants {
  serve: string[];
  produce: string[];
}

/** Who has been given these rights until now. A migration may drop what they were given on. */
export async function grantedRoles(client: pg.Client): Promise<Grants> {
  const { rows } = await client.query<{ role: string; serves: boolean; produces: boolean }>(
    statements.granted.text,
  );
  return {
    serve: rows.filter(({ serves }) => serves).map(({ role }) => role),
    produce: rows.filter(({ produces }) => produces).map(({ role }) => role),
  };
}

/** @throws StartError for a role that does not exist */
async function assertExists(client: pg.Client, role: string): Promise<void> {
  const { rows } = await client.query(queryOf(statements.exists, { role }));
  if (rows.length === 0)
    throw new StartError(`There is no role ${JSON.stringify(role)}. Create it first: create role ... login`);
}

const commandsOf = async (client: pg.Client, query: pg.QueryConfig): Promise<string[]> =>
  (await client.query<{ command: string }>(query)).rows.map(({ command }) => command);

/** Takes from PUBLIC what PostgreSQL gives it by itself, and gives these roles what they lack then. */
export async function grant(client: pg.Client, { serve, produce }: Grants): Promise<void> {
  const run = async (query: pg.QueryConfig) => {
    for (const command of await commandsOf(client, query)) await client.query(command);
  };
  await run({ text: statements.revokes.text });
  for (const role of new Set([...serve, ...produce])) await assertExists(client, role);
  for (const role of serve) await run(queryOf(statements.serving, { role }));
  for (const role of produce) await run(queryOf(statements.producing, { role }));
}
