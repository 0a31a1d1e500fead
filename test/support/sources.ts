import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

export const textOf = (path: string): string => readFileSync(`${ROOT}${path}`, 'utf8');

/** The TypeScript files of the service, as paths from the root. */
export function sources(): string[] {
  const below = ['src', 'routes', 'queuesFile', 'commands', 'clients/typescript/src'].flatMap((folder) =>
    readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  return ['main.ts', 'serve.ts', ...below.filter((file) => file.endsWith('.ts'))];
}

/** A source without the comments that have lines of their own. The others would need a parser. */
export const codeOf = (path: string): string =>
  textOf(path)
    .replaceAll(/^\s*\/\*.*?\*\//gms, '')
    .replaceAll(/^\s*\/\/.*$/gm, '');
