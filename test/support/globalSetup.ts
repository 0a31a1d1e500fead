import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startEmbedded } from '../../src/embedded/index.ts';
import { migrate } from '../../src/postgres/migrate.ts';
import { copyCluster } from './cluster.ts';
import { onServer, SERVING_ROLE, TEMPLATE, urlOf } from './database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string;
    /** A DATA_DIR whose PostgreSQL never runs, to copy. */
    madeDataDir: string;
  }
}

const settingsFor = ({ config }: TestProject) => ({
  // A replica has a pool for each of its databases. Without an `env` in its file, the config has none.
  max_connections: config.env?.TEST_DATABASES ? '900' : '300',
  // No test takes away the power. What was written survives every kill -9 without it.
  fsync: 'off',
});

/** One PostgreSQL for the run, with a migrated database to copy. TEST_DATABASE_URL may name another server. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const directory = await mkdtemp(join(tmpdir(), 'dibs-test-'));
  const [made, dataDir] = [join(directory, 'made'), join(directory, 'data')];
  await (await startEmbedded({ dataDir: made, log: () => undefined })).stop();
  copyCluster(made, dataDir);
  const embedded = process.env.TEST_DATABASE_URL
    ? undefined
    : await startEmbedded({ dataDir, log: () => undefined, settings: settingsFor(project) });
  const url = embedded?.url ?? (process.env.TEST_DATABASE_URL as string);
  await onServer(url, `drop database if exists ${TEMPLATE}`);
  await onServer(url, `create database ${TEMPLATE} encoding 'UTF8' template template0`);
  await onServer(url, `create role ${SERVING_ROLE} login password '${SERVING_ROLE}'`).catch((error) => {
    if (error.code !== '42710') throw error;
  });
  const template = urlOf(url, TEMPLATE);
  await migrate(template, { serve: [SERVING_ROLE], produce: [] });
  await onServer(template, await readFile(new URL('invariants.sql', import.meta.url), 'utf8'));
  project.provide('postgresUrl', url);
  project.provide('madeDataDir', made);

  return async () => {
    await embedded?.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
