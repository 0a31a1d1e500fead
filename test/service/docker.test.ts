import { existsSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { ROOT, textOf } from '../support/sources.ts';

/** What the Dockerfile copies from the repository. */
const copied = [...textOf('Dockerfile').matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap((match) =>
  (match[1] as string).split(/\s+/).slice(0, -1),
);

describe('the image', () => {
  test('everything that is copied into it is in the repository, and reaches the build', () => {
    const sent = [...textOf('.dockerignore').matchAll(/^!(.+)$/gm)].map((match) => match[1]);
    expect(copied).toEqual(expect.arrayContaining(['package.json', 'src', 'sql']));
    expect(copied.filter((path) => !existsSync(`${ROOT}${path}`))).toEqual([]);
    expect([...new Set(copied)].sort()).toEqual(sent.sort());
  });

  test('everything that tsc builds is copied into it', () => {
    const { include } = JSON.parse(textOf('tsconfig.build.json')) as { include: string[] };
    expect(include.filter((path) => !copied.includes(path))).toEqual([]);
  });

  const dockerfile = textOf('Dockerfile');

  test('it is built on one exact image of Node, pinned by its digest', () => {
    const [, image] = /^ARG NODE_IMAGE=(\S+)$/m.exec(dockerfile) ?? [];
    expect(image).toMatch(/^node:24\.\d+\.\d+-slim@sha256:[0-9a-f]{64}$/);
    const bases = [...dockerfile.matchAll(/^FROM (\S+)/gm)].map((match) => match[1]);
    expect([...new Set(bases)]).toEqual([`$\{NODE_IMAGE}`]);
  });

  test('it runs as a user with a number, who owns nothing in it', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(last).toMatch(/\nUSER [1-9]\d*:[1-9]\d*\n/);
    // Nothing is copied or run after that, and nothing is given to that user.
    expect(last.slice(last.indexOf('\nUSER '))).not.toMatch(/^(COPY|ADD|RUN|USER root)/m);
    expect(dockerfile).not.toMatch(/--chown|--chmod|\bADD\b|\bcurl\b|apt-get/);
  });

  test('it has its SBOM', () => {
    expect(dockerfile).toMatch(/^RUN npm sbom .*> sbom\.json$/m);
    expect(dockerfile).toMatch(/^COPY --from=dependencies \/dibs\/sbom\.json \.\/$/m);
  });

  test('compose runs it without capabilities, on a read-only file system', () => {
    const { parse } = createRequire(import.meta.url)('yaml') as { parse(text: string): unknown };
    const { services } = parse(textOf('compose.yaml')) as { services: Record<string, object> };
    expect(services.dibs).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    expect(services.dibs).not.toHaveProperty('privileged');
    expect(services.dibs).not.toHaveProperty('volumes');
  });

  test.each(['compose.yaml', 'deploy/compose.yaml'])('%s lets no web page act, under no name', (file) => {
    const { parse } = createRequire(import.meta.url)('yaml') as { parse(text: string): unknown };
    const { services } = parse(textOf(file)) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    const replicas = Object.keys(services).filter((name) => name.startsWith('dibs'));
    expect(replicas.length).toBeGreaterThan(0);
    for (const name of replicas)
      expect(readConfig(services[name]?.environment ?? {}).webPages).toEqual({
        hosts: expect.arrayContaining(replicas),
        origins: [],
        addresses: true,
      });
  });

  test('.ci/run is executable', () => {
    expect(statSync(`${ROOT}.ci/run`).mode & 0o111).toBe(0o111);
  });
});
