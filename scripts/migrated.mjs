import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { importSource } from './source.mjs';

/** Runs `work` with the URL of a new database that has every migration. */
export async function withMigrated(work) {
  const { startEmbedded } = await importSource('src/embedded/index.ts');
  const { migrate } = await importSource('src/postgres/migrate.ts');
  const dataDir = mkdtempSync(join(tmpdir(), 'dibs-generate-'));
  const postgres = await startEmbedded({ dataDir, log: () => undefined });
  try {
    await migrate(postgres.url);
    await work(postgres.url);
  } finally {
    await postgres.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}
