import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { planned, queryOf } from '../postgres/statements.ts';
import { type Cluster, socketName } from './cluster.ts';

const statements = {
  own: planned('embedded/own'),
  owner: planned('embedded/owner'),
  database: planned('embedded/database'),
  create: planned('embedded/create'),
};

// "dibs". Any number would do, but it must stay the same in all versions.
const lockKey = 0x64696273;

/** The URL, with the password in it, of a database of the server on this port. */
export function urlOf(cluster: Cluster, port: number, database: string): string {
  const password = readFileSync(cluster.password, 'utf8').trim();
  // With sslmode, because the server has no SSL and the environment may have a PGSSLMODE.
  return `postgres://postgres:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}?sslmode=disable`;
}

/** A longer path fits into no address of a socket (`sun_path`) of macOS. Linux has 4 bytes more. */
const LONGEST_SOCKET_PATH = 103;

/** The same by the Unix socket in the data directory, which costs less than TCP. By TCP, if its path is too long. */
export function socketUrlOf(cluster: Cluster, port: number, database: string): string {
  const url = urlOf(cluster, port, database);
  const path = join(cluster.data, socketName(port));
  const fits = Buffer.byteLength(path) <= LONGEST_SOCKET_PATH;
  return fits ? `${url}&host=${encodeURIComponent(cluster.data)}` : url;
}

/** A connection to the maintenance database. Its lock lasts as long as the connection. */
export interface Owner {
  client: pg.Client;
  /** Settles when the connection has ended, for any reason. */
  lost: Promise<void>;
}

export async function connect(cluster: Cluster, port: number): Promise<Owner> {
  const client = new pg.Client({
    connectionString: urlOf(cluster, port, 'postgres'),
    application_name: `dibs owner pid ${process.pid}`,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });
  client.on('error', () => {});
  const lost = new Promise<void>((resolve) => client.once('end', () => resolve()));
  await client.connect();
  return { client, lost };
}

/** Takes the lock that makes this process the owner of the server. False if another connection has it. */
export async function becomeOwner(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(queryOf(statements.own, { lock_key: lockKey }));
  return rows[0].taken;
}

/** The pid of the Dibs that owns the server. It never takes the lock: even for a moment, that could refuse the owner. */
export async function findOwner(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query(queryOf(statements.owner, { lock_key: lockKey }));
  return rows[0] && (/\d+$/.exec(rows[0].name)?.[0] ?? rows[0].name);
}

/** Takes the lock on our own new server. At most a service that takes the server for an orphan can be quicker. */
export async function own(cluster: Cluster, port: number): Promise<Owner | undefined> {
  const owner = await connect(cluster, port);
  for (let tries = 0; tries < 10; tries++) {
    if (await becomeOwner(owner.client)) return owner;
    await sleep(200);
  }
  await owner.client.end();
  return undefined;
}

/** Creates the database `dibs`, unless it exists. */
export async function createDatabase(client: pg.Client): Promise<void> {
  const { rows } = await client.query(statements.database.text);
  if (!rows[0].found) await client.query(statements.create.text);
}
