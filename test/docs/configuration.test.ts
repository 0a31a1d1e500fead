import { describe, expect, test } from 'vitest';
import { SECTIONS, SETTINGS } from '../../src/config/settings/all.ts';
import { readConfig } from '../../src/config.ts';
import { textOf } from '../support/sources.ts';

const rows = [
  ...textOf('docs/configuration.md').matchAll(
    /^\| `([A-Z_]+(?:<NAME>)?)` \| (?:`([^`]*)`)? ?\| ([^|]*) \| ([^|]+) \|$/gm,
  ),
].map(([, name = '', value, values = '', about]) => ({ name, value, values, about }));

/** The variables that a part of Dibs asks for, when all are empty. */
function asked(): string[] {
  const names = new Set<string>();
  const read = (_: unknown, name: string | symbol) => {
    names.add(String(name));
    return undefined;
  };
  readConfig(new Proxy<Record<string, string | undefined>>({}, { get: read }));
  return [...names];
}

describe('docs/configuration.md', () => {
  test('has each variable that the configuration reads, once, in its section', () => {
    const inSections = SECTIONS.flatMap(({ settings }) => Object.keys(settings));
    expect(rows.map(({ name }) => name)).toEqual(inSections);
    expect(inSections).toEqual(Object.keys(SETTINGS));
    expect(inSections).toEqual(expect.arrayContaining(asked()));
  });

  test('shows the defaults: written out, they change nothing', () => {
    const defaults = Object.fromEntries(rows.map(({ name, value }) => [name, value]));
    expect(readConfig(defaults)).toEqual(readConfig({}));
  });

  test.each(rows.filter(({ values }) => /^\d+ to \d+/.test(values)))(
    'shows the bounds of $name: $values, and no number beyond them is accepted',
    ({ name, values }) => {
      const [, least, most] = (/^(\d+) to (\d+)/.exec(values) ?? []).map(Number) as [number, number, number];
      for (const within of [least, most]) expect(() => readConfig({ [name]: `${within}` })).not.toThrow();
      for (const beyond of [least - 1, most + 1])
        expect(() => readConfig({ [name]: `${beyond}` })).toThrow(
          `${name} must be a whole number from ${least}`,
        );
    },
  );
});
