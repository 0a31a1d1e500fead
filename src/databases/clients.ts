import type pg from 'pg';
import { HOME } from '../config/databases.ts';
import { ownClient, rowsOf } from '../postgres/client.ts';
import type { Db } from '../postgres/pool.ts';
import { outageOf } from './named.ts';

/** A database of a Dibs, by its name. */
export interface NamedUrl {
  name: string;
  url: string;
}

/** The databases of a Dibs. */
export interface Databases {
  /** Of home, which may be the only one. */
  url: string;
  others?: NamedUrl[];
}

/** A connection to one of the databases. */
export interface Connected {
  name: string;
  client: pg.Client;
  /** Runs work on it. Where there are several databases, an outage tells its name. */
  at<T>(work: (client: pg.Client) => Promise<T>): Promise<T>;
}

/** Lends a connection of its own to each database, home first. @throws StartError, or Refusal `unavailable` */
export async function withClients<T>(
  { url, others = [] }: Databases,
  application: string,
  work: (all: [Connected, ...Connected[]]) => Promise<T>,
): Promise<T> {
  const lend = ({ name, url }: NamedUrl): Connected => {
    const client = ownClient(url, { application_name: application });
    const at = <T>(work: (client: pg.Client) => Promise<T>) => work(client);
    return { name, client, at: others.length === 0 ? at : (work) => at(work).catch(outageOf(name)) };
  };
  const all: [Connected, ...Connected[]] = [lend({ name: HOME, url }), ...others.map(lend)];
  try {
    for (const { at } of all) await at((client) => client.connect());
    return await work(all);
  } finally {
    await Promise.all(all.map(({ client }) => client.end().catch(() => undefined)));
  }
}

/** A connection, for what runs statements only. */
export const dbOf = (client: pg.Client): Db => ({
  query: (statement, parameters) => rowsOf(client, statement, parameters),
});
