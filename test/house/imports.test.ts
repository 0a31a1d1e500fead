import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeOf, sources } from '../support/sources.ts';

/** What a file imports, types too: other files as paths from the root, packages by their names. */
function importsOf(file: string): string[] {
  const specifiers = [...codeOf(file).matchAll(/\b(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] as string,
  );
  return specifiers.map((name) =>
    name.startsWith('.') ? posix.join(posix.dirname(file), name) : packageOf(name),
  );
}

const packageOf = (name: string) => (name.startsWith('@') ? name : (name.split('/')[0] as string));

/** The storeys of the house; a file imports from its own and from lower ones. */
const STOREYS = ['src/', 'routes/', 'serve.ts', 'main.ts'];
const storeyOf = (file: string) => STOREYS.findIndex((start) => file.startsWith(start));

/** "importer -> imported" for each import for which the rule is broken. */
function broken(isBroken: (file: string, imported: string) => boolean): string[] {
  return sources().flatMap((file) =>
    importsOf(file)
      .filter((imported) => isBroken(file, imported))
      .map((imported) => `${file} -> ${imported}`),
  );
}

/** Files whose code matches, without those that may. */
const matching = (pattern: RegExp, but: string[] = []) =>
  sources().filter((file) => pattern.test(codeOf(file)) && !but.includes(file));

describe('the house', () => {
  test('the sources are found, and so is what they import', () => {
    expect(sources()).toEqual(expect.arrayContaining(['main.ts', 'src/engine.ts', 'routes/app.ts']));
    expect(importsOf('main.ts')).toEqual(expect.arrayContaining(['pino', 'serve.ts', 'src/config.ts']));
    expect(importsOf('routes/app.ts')).toContain('src/engine.ts');
  });

  test('nothing imports upwards: main, then routes, then src', () => {
    expect(
      broken((file, imported) => imported.endsWith('.ts') && storeyOf(imported) > storeyOf(file)),
    ).toEqual([]);
  });

  test('every file that is imported belongs to the service', () => {
    expect(broken((_, imported) => imported.endsWith('.ts') && !sources().includes(imported))).toEqual([]);
  });

  test('the engine knows nothing of HTTP', () => {
    const http = /^(fastify|@fastify\/|typebox|node:http|ajv)/;
    expect(broken((file, imported) => file.startsWith('src/') && http.test(imported))).toEqual([]);
  });

  test('the routes know nothing of PostgreSQL', () => {
    expect(
      broken(
        (file, imported) =>
          file.startsWith('routes/') && (imported === 'pg' || /^src\/(postgres|embedded)/.test(imported)),
      ),
    ).toEqual([]);
    expect(matching(/\.sql\b/).filter((file) => file.startsWith('routes/'))).toEqual([]);
  });

  test('only main hands the environment out, and only the configuration reads it', () => {
    expect(matching(/\bprocess\.env\b|\benv\s*[},].*\bprocess\b|'(node:)?process'/, ['main.ts'])).toEqual([]);
    expect(codeOf('main.ts').match(/process\.env/g)?.length).toBe(
      codeOf('main.ts').match(/readConfig\(process\.env\b/g)?.length,
    );
  });
});
