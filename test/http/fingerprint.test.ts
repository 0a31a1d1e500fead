import fc from 'fast-check';
import { expect, test } from 'vitest';
import { fingerprintOf } from '../../routes/http/json/fingerprint.ts';
import { atOnce } from '../../src/slices.ts';

const of = (text: string) => atOnce(fingerprintOf(Buffer.from(text)));

const LONG = 'x'.repeat(300);

test.each([
  ['members in another order', '{"a":1,"b":{"c":[],"d":{}}}', '{"b":{"d":{},"c":[]},"a":1}'],
  ['white space', '{"a":[1,"b c"]}', ' { "a" :\t[ 1 ,\r\n"b c" ] }\n'],
  [
    'long objects',
    `[{"a":"${LONG}","b":{"c":"${LONG}","d":1}}]`,
    `[{"b":{"d":1,"c":"${LONG}"},"a":"${LONG}"}]`,
  ],
  ['quotes and backslashes', '{"\\\\":1,"\\"":2,"{":3}', '{"{":3,"\\"":2,"\\\\":1}'],
  ['members of one name, among others', '{"a":1,"b":0,"a":2}', '{"b":0,"a":1,"a":2}'],
])('bodies are equal: %s', (_, one, other) => {
  expect(of(one)).toBe(of(other));
});

test.each([
  ['numbers by their text', '{"a":1}', '{"a":1.0}'],
  ['strings by their text', '"a"', '"\\u0061"'],
  ['names by their text', '{"a":1}', '{"\\u0061":1}'],
  ['white space within a string', '["a b"]', '["ab"]'],
  ['the order of elements', '[1,2]', '[2,1]'],
  ['the order of members of one name', '{"a":1,"a":2}', '{"a":2,"a":1}'],
  ['where a value stands', '{"a":{"b":1},"c":2}', '{"a":{"b":1,"c":2}}'],
  ['long objects', `{"a":"${LONG}"}`, `{"a":"${LONG}x"}`],
  ['no body', '', 'null'],
])('bodies differ: %s', (_, one, other) => {
  expect(of(one)).not.toBe(of(other));
});

/** JSON with its members in another order, and with white space. */
function shuffled(value: unknown): string {
  if (Array.isArray(value)) return `[ ${value.map(shuffled).join(' ,')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, one]) => `${JSON.stringify(name)} : ${shuffled(one)}`);
  return `{\n${members.reverse().join(',\n')} }`;
}

test('any JSON has the same fingerprint with its members in another order', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5, noUnicodeString: false }), (value) => {
      expect(of(shuffled(value))).toBe(of(JSON.stringify(value)));
    }),
  );
});

test('a long string is read in parts, whatever is in it', () => {
  const members = Array.from({ length: 1100 }, (_, i) => `"m${i}":${i}`);
  for (const text of ['}', 'ü}', '\\"}', '\\\\', '{\\"a\\":1},']) {
    const long = `"long":"${text.repeat(60_000)}"`;
    const one = `{${[long, ...members].join(',')}}`;
    expect(() => JSON.parse(one)).not.toThrow();
    expect(of(one)).toBe(of(`{${[...members, long].reverse().join(', ')}}`));
    expect(of(one)).not.toBe(of(one.replace('"long":"', '"long":"x')));
  }
});

test('any two bodies that say different things have different fingerprints', () => {
  const sorted = (value: unknown): unknown =>
    typeof value !== 'object' || value === null
      ? value
      : Array.isArray(value)
        ? value.map(sorted)
        : Object.entries(value)
            .map(([name, one]) => [name, sorted(one)])
            .sort(([a], [b]) => ((a as string) < (b as string) ? -1 : 1));
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      const text = [one, other].map((value) => JSON.stringify(value)) as [string, string];
      fc.pre(JSON.stringify(sorted(one)) !== JSON.stringify(sorted(other)));
      expect(of(text[0])).not.toBe(of(text[1]));
    }),
  );
});

test('the time for 16 MiB is bounded, however they are nested', () => {
  const bodies = {
    'one string': `"${'x'.repeat(2 ** 24)}"`,
    'small objects': `[${'{"b":1,"a":2},'.repeat(2 ** 20)}0]`,
    'deep objects': `${'{"b":1,"a":'.repeat(10_000)}0${'}'.repeat(10_000)}`,
    'deep arrays': '['.repeat(2 ** 23) + ']'.repeat(2 ** 23),
  };
  for (const [what, body] of Object.entries(bodies)) {
    const json = Buffer.from(body);
    const started = process.cpuUsage();
    atOnce(fingerprintOf(json));
    // 0.1 s to 0.8 s. With a copy for each level, deep objects took minutes.
    expect(process.cpuUsage(started).user, what).toBeLessThan(20e6);
  }
});
