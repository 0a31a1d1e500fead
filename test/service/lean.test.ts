import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.ts';

/** The packages that are loaded when a replica is ready to serve. */
function loadedPackages(): string[] {
  const script = `
    import { Module } from 'node:module';
    import { pino } from 'pino';
    import './dist/serve.js';
    import { buildApp } from './dist/routes/app.js';
    import { createLedger } from './dist/src/ledger.js';
    const app = await buildApp({ engine: { ledger: createLedger() }, logger: pino({ level: 'silent' }), maxPayloadBytes: 1 });
    await app.close();
    console.log(JSON.stringify(Object.keys(Module._cache)));
  `;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  const files: string[] = JSON.parse(out);
  return [...new Set(files.map((file) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file)?.[1] as string))];
}

test('a replica loads nothing for the OpenAPI document, Swagger UI, serialisers, tokens or limits before it is needed', () => {
  const packages = loadedPackages();
  expect(packages).toEqual(expect.arrayContaining(['fastify', 'pg', 'ajv']));
  for (const heavy of [
    '@fastify/swagger',
    '@fastify/swagger-ui',
    '@fastify/helmet',
    '@fastify/cors',
    '@fastify/rate-limit',
    'jose',
    'yaml',
    '@fastify/static',
    '@fastify/fast-json-stringify-compiler',
  ])
    expect(packages).not.toContain(heavy);
});
