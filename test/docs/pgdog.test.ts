import { execFileSync, spawnSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { sectionOf } from '../support/pageFiles.ts';
import { ROOT } from '../support/sources.ts';

/** Python brings a parser of TOML along since 3.11. */
const readsToml = spawnSync('python3', ['-c', 'import tomllib']).status === 0;

// biome-ignore lint/suspicious/noExplicitAny: files of two kinds.
const read = (file: string): any =>
  JSON.parse(
    execFileSync(
      'python3',
      ['-c', 'import json, sys, tomllib; print(json.dumps(tomllib.load(open(sys.argv[1], "rb"))))', file],
      { cwd: ROOT, encoding: 'utf8' },
    ),
  );

/** The variables that docs/scaling.md gives Dibs. */
function variablesOfPage(): Record<string, string> {
  const [, lines = ''] = /```sh\n([\s\S]*?)```/.exec(sectionOf('docs/scaling.md', 'Through PgDog')) ?? [];
  return Object.fromEntries([...lines.matchAll(/^(\w+)='(.*)'$/gm)].map(([, name, value]) => [name, value]));
}

describe.skipIf(!readsToml)('deploy/pgdog', () => {
  test('its names, addresses and shards are those of docs/scaling.md', () => {
    const { general, databases } = read('deploy/pgdog/pgdog.toml');
    const { users } = read('deploy/pgdog/users.toml');
    const env = variablesOfPage();
    expect(readConfig(env).otherDatabases).toMatchObject([{ name: 'b' }]);
    const urls = [env.DATABASE_URL, env.DATABASE_URL_B].map((url) => new URL(url as string));
    const listens = [env.DATABASE_LISTEN_URL, env.DATABASE_LISTEN_URL_B].map((url) => new URL(url as string));
    expect(databases).toHaveLength(urls.length);
    for (const [i, url] of urls.entries()) {
      const { name, host, port, shard } = databases[i];
      expect(url.searchParams.get('options')).toBe(`-c pgdog.shard=${shard}`);
      expect([url.hostname, Number(url.port)]).toEqual([general.host, general.port]);
      expect(url.pathname).toBe(`/${name}`);
      expect(listens[i]).toMatchObject({ hostname: host, port: String(port), pathname: `/${name}` });
      expect(users).toMatchObject([{ name: url.username, database: name, password: url.password }]);
    }
    expect(new Set(databases.map(({ shard }: { shard: number }) => shard)).size).toBe(databases.length);
  });
});
