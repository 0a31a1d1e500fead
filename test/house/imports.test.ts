import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { codeOf, sources, textOf } from '../support/sources.ts';

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

/**
 * The rooms of the house, lowest first. A file imports from its own room and from lower ones. docs/architecture.md says
 * in a line what each is for.
 */
const ROOMS = [
  'clients/typescript/src/',
  /^src\/(config\/[\w/]+|errors|ids|job|jobFields|jobShapes|leaseTimes|newest|ledger|logger|memory|rareLog|askers|traceparent|unseen|config|version|shareOfTime|slices|looks|caller)\.ts$/,
  'src/verbs/',
  /^src\/(verbs|concerns)\.ts$/,
  'src/postgres/',
  'src/metrics/',
  'src/embedded/',
  'src/replicas/',
  'src/queues/',
  'src/floor/',
  'src/batching/',
  'src/groups/',
  'src/waiting/',
  'src/enqueue/',
  'src/relay/',
  'src/settle/',
  'src/batches/',
  'src/schedules/',
  'src/sessions/',
  'src/claim/',
  'src/maintenance/',
  'src/counting/',
  'src/looking/',
  'src/history/',
  'src/operations/',
  'src/changing/',
  'src/tracing/',
  'src/access/',
  'src/serviceLog.ts',
  'src/engine/',
  'src/databases/',
  'src/engine.ts',
  'src/doctor/',
  'src/transfer/',
  'routes/schemas/',
  'routes/http/',
  /^routes\/(?!app\.ts$)[^/]+\.ts$/,
  'routes/app.ts',
  'queuesFile/',
  'serve.ts',
  'commands/',
  'main.ts',
];
const roomOf = (file: string) =>
  ROOMS.findIndex((room) => (typeof room === 'string' ? file.startsWith(room) : room.test(file)));
/** What every room may use: errors, ids, jobs, the configuration and the like. */
const PLAIN = roomOf('src/errors.ts');
const isTypeScript = (imported: string) => imported.endsWith('.ts');

/** A circle of imports, as the files along it. None when there is none. */
function circleOf(files: string[]): string[] | undefined {
  const done = new Set<string>();
  function walk(file: string, path: string[]): string[] | undefined {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const imported of importsOf(file)) {
      if (!files.includes(imported)) continue;
      const circle = walk(imported, [...path, file]);
      if (circle) return circle;
    }
    done.add(file);
    return undefined;
  }
  for (const file of files) {
    const circle = walk(file, []);
    if (circle) return circle;
  }
  return undefined;
}

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
    expect(importsOf('main.ts')).toEqual(expect.arrayContaining(['commands/local.ts', 'src/config.ts']));
    expect(importsOf('routes/app.ts')).toContain('src/verbs.ts');
  });

  test('every file has its room', () => {
    expect(sources().filter((file) => roomOf(file) < 0)).toEqual([]);
  });

  test('the pages of verbs stand on nothing but plain things', () => {
    const page = /^src\/verbs[./]/;
    expect(
      broken((file, imported) => page.test(file) && !page.test(imported) && roomOf(imported) !== PLAIN),
    ).toEqual([]);
  });

  test('routes know the engine by the pages of verbs: beside them only plain things, and who sends a request', () => {
    const known = /^src\/(verbs[./]|access\/)|^src\/metrics\/family\.ts$/;
    const strange = broken(
      (file, imported) =>
        /^routes\//.test(file) &&
        imported.startsWith('src/') &&
        roomOf(imported) !== PLAIN &&
        !known.test(imported),
    );
    expect(strange).toEqual([]);
  });

  test('what is put around the verbs knows the pages of verbs, and no room that fulfils them', () => {
    const around =
      /^src\/(concerns\.ts|access\/(guard|allowed|audited|checks|needs|settleVisible|untilEnd)\.ts|tracing\/)/;
    const known = /^src\/(verbs[./]|access\/|tracing\/|concerns\.ts)/;
    expect(
      broken(
        (file, imported) =>
          around.test(file) &&
          imported.startsWith('src/') &&
          roomOf(imported) !== PLAIN &&
          !known.test(imported),
      ),
    ).toEqual([]);
  });

  test('imports go downwards only, from room to room', () => {
    expect(broken((file, imported) => isTypeScript(imported) && roomOf(imported) > roomOf(file))).toEqual([]);
  });

  test('no imports go in a circle', () => {
    expect(circleOf(sources())).toBeUndefined();
  });

  test('routes import no other routes, but for the app that lists them', () => {
    const isRoute = (file: string) => /^routes\/(?!app\.ts$)[^/]+\.ts$/.test(file);
    expect(broken((file, imported) => isRoute(file) && isRoute(imported))).toEqual([]);
  });

  test('docs/architecture.md explains each folder', () => {
    const architecture = textOf('docs/architecture.md');
    const folders = new Set(sources().flatMap((file) => /^((?:src|routes)\/[^/]+)\//.exec(file)?.[1] ?? []));
    expect([...folders].filter((folder) => !architecture.includes(`| \`${folder}/\` |`))).toEqual([]);
  });

  test('every file that is imported belongs to the service', () => {
    const all = new Set(sources());
    expect(broken((_, imported) => imported.endsWith('.ts') && !all.has(imported))).toEqual([]);
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
      codeOf('main.ts').match(/(readConfig|ownTerminal)\(process\.env\b|\benv: process\.env\b/g)?.length,
    );
  });
});
