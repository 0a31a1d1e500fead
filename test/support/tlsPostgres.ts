import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startEmbedded } from '../../src/embedded/index.ts';
import type { Pair } from './certificates.ts';
import { onServer } from './database.ts';
import { filledDataDir } from './postgres.ts';
import { until } from './until.ts';

/**
 * A PostgreSQL with `ssl=on`. Its roles: `secure` may come in over TLS only, `certified` only with a client certificate of
 * that name, and `postgres` anyhow.
 */
export async function tlsPostgres(first: Pair, clientCa: Pair) {
  const directory = await filledDataDir();
  // No test takes away the power.
  const settings = { fsync: 'off' };
  const server = await startEmbedded({ dataDir: directory.path, log: () => undefined, settings });
  const data = join(directory.path, 'postgres', 'data');

  /** PostgreSQL takes a key only from its own user. */
  function write(name: string, text: string): void {
    const path = join(data, name);
    writeFileSync(path, text, { mode: 0o600 });
    const { uid, gid } = statSync(data);
    chownSync(path, uid, gid);
  }
  const admin = (text: string) => onServer<{ [column: string]: string }>(server.url, text);

  async function set(name: string, value: string): Promise<void> {
    await admin(`alter system set ${name} = '${value}'`);
    await reload();
    await until(async () => (await admin(`show ${name}`))[0]?.[name] === value);
  }
  /** Returns when new connections meet what was changed. */
  async function reload(): Promise<void> {
    const loadedAt = async () => (await admin('select pg_conf_load_time()::text as at'))[0]?.at;
    const before = await loadedAt();
    await admin('select pg_reload_conf()');
    await until(async () => (await loadedAt()) !== before);
  }

  async function serve(pair: Pair): Promise<void> {
    write('server.crt', pair.cert);
    write('server.key', pair.key);
    await reload();
  }

  for (const role of ['secure', 'certified'])
    await admin(`create role ${role} superuser login password 'secret'`);
  write('root.crt', clientCa.cert);
  const rules = [
    'hostssl all certified 127.0.0.1/32 cert',
    'hostssl all secure 127.0.0.1/32 scram-sha-256',
    'host all secure,certified 127.0.0.1/32 reject',
  ];
  write('pg_hba.conf', `${rules.join('\n')}\n${readFileSync(join(data, 'pg_hba.conf'), 'utf8')}`);
  await serve(first);
  await set('ssl_ca_file', 'root.crt');
  await set('ssl', 'on');

  return {
    admin,
    serve,
    /** Turns TLS on or off. */
    speak: (isOn: boolean) => set('ssl', isOn ? 'on' : 'off'),
    /** The URL of a database for a role, with these parameters. */
    url(parameters: Record<string, string>, { role = 'secure', database = 'dibs' } = {}): string {
      const url = new URL(server.url);
      url.pathname = `/${database}`;
      url.username = role;
      url.password = 'secret';
      url.search = new URLSearchParams(parameters).toString();
      return url.href;
    },
    async stop() {
      await server.stop();
      await directory.remove();
    },
  };
}
