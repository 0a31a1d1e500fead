import { existsSync, readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { copyClient, document, emptyFolder, here, run, startServiceForClients } from './support.ts';

let service: Awaited<ReturnType<typeof startServiceForClients>>;

/** The generators have their own node_modules, because they need TypeScript 5. */
async function installGenerators(): Promise<void> {
  const lock = readFileSync(join(here, 'package-lock.json'), 'utf8');
  const installed = join(here, 'node_modules/.installed');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return;
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here });
  await writeFile(installed, lock);
}

const generator = (name: string) => join(here, 'node_modules/.bin', name);

/** Generates into `generated`, beside the client's own code, type-checks both, and runs the client. */
async function tryClient(name: string, generate: (folder: string) => Promise<unknown>): Promise<void> {
  const folder = await emptyFolder(name);
  await copyClient(name, folder);
  await cp(join(here, 'clients/tsconfig.json'), join(folder, 'tsconfig.json'));
  await generate(join(folder, 'generated'));
  await run(generator('tsc'), ['-p', folder]);
  await service.goThrough(process.execPath, [join(folder, 'dist/cycle.js')]);
}

beforeAll(async () => {
  service = await startServiceForClients();
  await installGenerators();
});
afterAll(() => service.stop());

test('openapi-fetch with the types of openapi-typescript goes through a whole cycle', () =>
  tryClient('openapi-fetch', (to) =>
    run(generator('openapi-typescript'), [document, '-o', join(to, 'schema.d.ts')]),
  ));

test('a client of @hey-api/openapi-ts goes through a whole cycle', () =>
  tryClient('hey-api', (to) =>
    run(generator('openapi-ts'), ['-i', document, '-o', to, '-c', '@hey-api/client-fetch', '--no-log-file']),
  ));
