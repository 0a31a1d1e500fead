import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseKeepingRaw, type RawShape } from '../../routes/http/rawJson.ts';
import { Refusal } from '../../src/errors.ts';
import { RawJson } from '../../src/job.ts';

const any: RawShape = { maxBytes: 2 ** 30 };
const SHAPES: (RawShape | undefined)[] = [
  undefined,
  any,
  [any],
  { members: { payload: any } },
  { members: { jobs: [{ members: { payload: any } }] } },
  { members: { '': any, payload: { members: { payload: any } } } },
];

function outcome(parse: () => unknown): 'valid' | 'SyntaxError' {
  try {
    parse();
    return 'valid';
  } catch (error) {
    if (error instanceof SyntaxError) return 'SyntaxError';
    throw error;
  }
}

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 3 });
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 30 });
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(
      fc.constant('0'),
      digits.map((d) => `7${d}`),
    ),
    fc.oneof(
      fc.constant(''),
      digits.map((d) => `.${d}`),
    ),
    fc.oneof(
      fc.constant(''),
      fc.tuple(fc.constantFrom('e', 'E+', 'e-'), digits).map(([e, d]) => e + d),
    ),
  )
  .map((parts) => parts.join(''));
const character = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(..."ab {}[]:,'/", '\u2028', 'ü', '😀', '\u007f') },
  fc.constantFrom('\\"', '\\\\', '\\/', '\\b', '\\n', '\\u0000', '\\ud800', '\\uDC00', '\\u0022', '\\u005c'),
);
const stringText = fc.array(character, { maxLength: 8 }).map((parts) => `"${parts.join('')}"`);
const nameText = fc.oneof(
  stringText,
  fc.constantFrom('"__proto__"', '"payload"', '"pay\\u006coad"', '"jobs"'),
);

/** Valid JSON texts as a client might write them: any white space, escapes and repeated names. */
const { value: valueText } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(fc.constantFrom('null', 'true', 'false'), numberText, stringText),
    tie('list'),
    tie('object'),
  ),
  list: fc
    .tuple(space, fc.array(fc.tuple(space, tie('value'), space), { maxLength: 4 }))
    .map(([inner, items]) => `[${items.length ? items.map((parts) => parts.join('')).join(',') : inner}]`),
  object: fc
    .tuple(
      space,
      fc.array(
        fc
          .tuple(space, nameText, space, space, tie('value'), space)
          .map(([a, name, b, c, value, d]) => `${a}${name}${b}:${c}${value}${d}`),
        { maxLength: 4 },
      ),
    )
    .map(([inner, parts]) => `{${parts.length ? parts.join(',') : inner}}`),
}));

/** Texts that are nearly JSON: a valid one with a few characters replaced, dropped or inserted. */
const brokenText = fc
  .tuple(
    valueText,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.constantFrom(...'{}[]",:\\0-.eE+ u\n\u0000\u00a0\ufeff', 'null', '""', '1.', '\u000b'),
        fc.nat(1),
      ),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([text, edits]) =>
    edits.reduce((broken, [where, put, drop]) => {
      const at = where % (broken.length + 1);
      return broken.slice(0, at) + put + broken.slice(at + drop);
    }, text),
  );

describe('parseKeepingRaw', () => {
  test('rejects exactly what JSON.parse rejects, whatever the shape', () => {
    const texts = fc.oneof(valueText, brokenText, brokenText, fc.string(), fc.json());
    fc.assert(
      fc.property(texts, fc.constantFrom(...SHAPES), (text, shape) => {
        expect(outcome(() => parseKeepingRaw(text, shape))).toBe(outcome(() => JSON.parse(text)));
      }),
      { numRuns: 5000 },
    );
  });

  test('without a shape it returns what JSON.parse returns', () => {
    fc.assert(
      fc.property(valueText, (text) => {
        expect(parseKeepingRaw(text, undefined)).toEqual(JSON.parse(text));
      }),
      { numRuns: 1000 },
    );
  });

  test('a raw value is the text that was sent, without the white space around it', () => {
    fc.assert(
      fc.property(space, valueText, space, (before, text, after) => {
        expect(parseKeepingRaw(before + text + after, any)).toEqual(new RawJson(text));
      }),
      { numRuns: 2000 },
    );
  });

  test('the raw values of a list are the texts of its elements', () => {
    const list = fc.array(fc.tuple(space, valueText, space), { maxLength: 6 });
    fc.assert(
      fc.property(list, space, (items, inner) => {
        const text = `[${items.length ? items.map((parts) => parts.join('')).join(',') : inner}]`;
        expect(parseKeepingRaw(text, [any])).toEqual(items.map(([, value]) => new RawJson(value)));
      }),
      { numRuns: 1000 },
    );
  });

  test('in a batch each payload is the text that was sent, the last one of a repeated name; all else is parsed', () => {
    const member = fc
      .tuple(space, nameText, space, space, valueText, space)
      .map(([a, name, b, c, value, d]) => ({ name, value, text: `${a}${name}${b}:${c}${value}${d}` }));
    const jobs = fc.array(fc.array(member, { minLength: 1, maxLength: 5 }), { maxLength: 4 });
    fc.assert(
      fc.property(jobs, space, (items, inner) => {
        const list = items.map((members) => `{${members.map((m) => m.text).join(',')}}`);
        const text = `${inner}{${inner}"jobs"${inner}:${inner}[${list.join(',')}]}`;
        const expected = JSON.parse(text);
        for (const [i, members] of items.entries())
          for (const { name, value } of members)
            if (JSON.parse(name) === 'payload') expected.jobs[i].payload = new RawJson(value);
        expect(parseKeepingRaw(text, SHAPES[4])).toEqual(expected);
      }),
      { numRuns: 2000 },
    );
  });

  test('names of Object.prototype are names like any other', () => {
    const text = '{"__proto__":{"payload":1},"constructor":2,"payload":[3 ,4]}';
    const parsed = parseKeepingRaw(text, SHAPES[3]) as Record<string, unknown>;
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype);
    expect(Object.keys(parsed)).toEqual(['__proto__', 'constructor', 'payload']);
    expect(parsed.payload).toEqual(new RawJson('[3 ,4]'));
  });

  test('a value of another type in the place of a list or an object is left to the validation', () => {
    for (const text of [
      '{"jobs":1}',
      '{"jobs":{"payload":1}}',
      '{"jobs":null}',
      '[]',
      '"jobs"',
      '{"jobs":[[]]}',
    ])
      expect(parseKeepingRaw(text, SHAPES[4])).toEqual(JSON.parse(text));
  });

  test('a value may nest 1000 levels and be as large as its limit, and no more', () => {
    const nest = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;
    expect(parseKeepingRaw(nest(1000), any)).toEqual(new RawJson(nest(1000)));
    expect(() => parseKeepingRaw(nest(1002), any)).toThrow(Refusal);
    expect(() => parseKeepingRaw('[]'.padStart(3_000_002, '['), any)).toThrow(SyntaxError);
    expect(() => parseKeepingRaw('['.repeat(1e6) + ']'.repeat(1e6), any)).toThrow(Refusal);
    expect(parseKeepingRaw('"12"', { maxBytes: 4 })).toEqual(new RawJson('"12"'));
    expect(() => parseKeepingRaw('"123"', { maxBytes: 4 })).toThrow(Refusal);
    expect(() => parseKeepingRaw('"ü1"', { maxBytes: 4 })).toThrow(Refusal);
  });

  test('a hostile text is read in linear time', () => {
    for (const text of [
      `"${'\\\\'.repeat(4e6)}"`,
      `"${'\\"'.repeat(4e6)}"`,
      `[${'"",'.repeat(2e6)}1]`,
      `{${'"":{},'.repeat(1e6)}"a":1}`,
    ])
      expect(parseKeepingRaw(text, any)).toBeInstanceOf(RawJson);
  });
});
