import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';

const semver = createRequire(import.meta.url)('semver') as {
  satisfies(version: string, range: string): boolean;
};

interface Package {
  version?: string;
  dev?: boolean;
  devOptional?: boolean;
  engines?: { node?: string };
  dependencies?: Record<string, string>;
}
const read = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const { engines, overrides } = read('package.json') as { engines: { node: string }; overrides?: object };
const locked = Object.entries((read('package-lock.json') as { packages: Record<string, Package> }).packages);
const needed = locked.filter(([, { dev, devOptional }]) => !dev && !devOptional);

/*
 * light-my-request and @fastify/static are dependencies of ours for this alone: their newest versions, which Fastify and
 * Swagger UI would take, need packages that need Node 22.
 */

/** The oldest Node that Dibs serves, and the newer lines. */
const NODES = ['20.19.0', '22.0.0', '24.0.0'];

test('every package that an installation needs runs on every Node that Dibs names', () => {
  for (const node of NODES) {
    expect(semver.satisfies(node, engines.node)).toBe(true);
    const tooNew = needed.filter(([, it]) => it.engines?.node && !semver.satisfies(node, it.engines.node));
    expect(tooNew.map(([name]) => name)).toEqual([]);
  }
});

test('that holds for who installs the package too: nothing depends on overrides, which reach only this clone', () => {
  expect(overrides).toBe(undefined);
  const versionOf = (from: string, name: string): string | undefined => {
    for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
      const found = locked.find(([path]) => path === `${at ? `${at}/` : ''}node_modules/${name}`);
      if (found || at === '') return found?.[1].version;
    }
  };
  for (const [path, { dependencies = {} }] of needed)
    for (const [name, range] of Object.entries(dependencies))
      expect(semver.satisfies(versionOf(path, name) ?? '', range), `${path} needs ${name} ${range}`).toBe(
        true,
      );
});
