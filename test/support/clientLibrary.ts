import { execFile } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ROOT } from './sources.ts';

/** The TypeScript library in `node_modules` of a folder, as it is installed: its package.json, and what its build makes. */
export async function installLibrary(folder: string): Promise<void> {
  const library = `${folder}/node_modules/dibs-client`;
  await mkdir(library, { recursive: true });
  await copyFile(`${ROOT}clients/typescript/package.json`, `${library}/package.json`);
  const args = ['-p', `${ROOT}clients/typescript`, '--outDir', `${library}/dist`];
  await promisify(execFile)(`${ROOT}node_modules/.bin/tsc`, args);
}

/** For a project of TypeScript in a folder below. */
export const tsConfig = JSON.stringify({
  compilerOptions: {
    module: 'nodenext',
    target: 'es2022',
    strict: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [`${ROOT}node_modules/@types`],
  },
});
