import { existsSync, statSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
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

  test('.ci/run is executable', () => {
    expect(statSync(`${ROOT}.ci/run`).mode & 0o111).toBe(0o111);
  });
});
