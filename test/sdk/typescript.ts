import { existsSync, readFileSync } from 'node:fs';
import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Program } from './sdks.ts';
import { copyClient, emptyFolder, here, run } from './support.ts';

/** Generators of TypeScript have their own node_modules, because they need TypeScript 5. */
async function installGenerators(): Promise<void> {
  const lock = readFileSync(join(here, 'package-lock.json'), 'utf8');
  const installed = join(here, 'node_modules/.installed');
  if (existsSync(installed) && readFileSync(installed, 'utf8') === lock) return;
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: here });
  await writeFile(installed, lock);
}

export const typescriptTool = (name: string, ...args: string[]) =>
  run(join(here, 'node_modules/.bin', name), args);

/** Generates into `generated`, beside the client's own code, and type-checks both. */
export async function buildTypeScript(
  name: string,
  generate: (folder: string) => Promise<unknown>,
  ...tscOptions: string[]
): Promise<Program> {
  await installGenerators();
  const folder = await emptyFolder(name);
  await copyClient(name, folder);
  await cp(join(here, 'clients/tsconfig.json'), join(folder, 'tsconfig.json'));
  await generate(join(folder, 'generated'));
  await typescriptTool('tsc', '-p', folder, ...tscOptions);
  return { command: process.execPath, args: [join(folder, 'dist/cycle.js')] };
}
