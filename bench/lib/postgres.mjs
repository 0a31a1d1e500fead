import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../../dist/src/embedded/index.js';
import { atEnd } from './cleanup.mjs';
import { parentOf } from './cpu.mjs';
import { workDir } from './machine.mjs';

/** The settings for both sides of every ratio. Durability depends on fsync and synchronous_commit. */
export const SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  max_connections: '200',
  track_io_timing: 'off',
};

export async function query(url, text, values = []) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/** What the database has written to its log, and how many transactions it has committed. */
export async function written(url) {
  const [row] = await query(
    url,
    `select pg_current_wal_insert_lsn() - '0/0' as "walBytes", xact_commit as commits
     from pg_stat_database
     where datname = current_database()`,
  );
  return row;
}

/** The process that started all others of the server of a database, on this machine. */
export async function serverPid(url) {
  const [{ pid }] = await query(url, `select pid from pg_stat_activity where backend_type = 'checkpointer'`);
  return parentOf(pid);
}

/** Starts an embedded PostgreSQL on a directory of its own. Both are removed when the benchmark ends. */
export async function startPostgres(settings = {}) {
  const dataDir = await mkdtemp(join(workDir(), 'dibs-bench-'));
  atEnd(() => rm(dataDir, { recursive: true, force: true }));
  const server = await startEmbedded({
    dataDir,
    log: () => undefined,
    settings: { ...SETTINGS, ...settings },
  });
  atEnd(() => server.stop());
  const [{ version }] = await query(server.url, 'select version()');

  return {
    dataDir,
    version: version.split(' on ')[0],
    /** Creates a database and returns its URL. It is empty, or a copy of `template`, to which nobody is connected. */
    async database(name, template = 'template0') {
      await query(server.url, `create database ${name} template ${template} encoding 'UTF8'`);
      const url = new URL(server.url);
      url.pathname = `/${name}`;
      return url.href;
    },
    async drop(name) {
      await query(server.url, `drop database if exists ${name} with (force)`);
    },
  };
}

/** Makes every load start alike: no dead rows, current statistics, no checkpoint soon. */
export async function settle(url) {
  await query(url, 'vacuum (analyze)');
  await query(url, 'checkpoint');
}

/** Holds back the xmin horizon of a database until the returned function is called. */
export async function holdHorizon(url) {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin isolation level repeatable read');
  // It takes a transaction id besides its snapshot, like the worst kind of forgotten transaction.
  await client.query('select pg_current_xact_id()');
  const end = async () => {
    await client.query('rollback').catch(() => undefined);
    await client.end().catch(() => undefined);
  };
  atEnd(end);
  return end;
}
