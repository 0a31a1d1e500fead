import { Ajv } from 'ajv';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { buildValidator } from '../../routes/http/json/validation.ts';
import { NO_NUL } from '../../routes/schemas/common.ts';

// biome-ignore lint/suspicious/noExplicitAny: Fastify's types describe another compiler.
const validatorOf = (schema: object): any => (buildValidator({}, {}) as any)({ schema, httpPart: 'body' });

const schemas = [
  { type: 'string', minLength: 1, maxLength: 4, pattern: NO_NUL },
  { type: 'string', minLength: 3 },
  { type: 'string', maxLength: 0 },
  { type: ['string', 'null'], maxLength: 2, pattern: '^[ab]*$' },
  {
    type: 'object',
    maxProperties: 2,
    propertyNames: { type: 'string', maxLength: 2, pattern: NO_NUL },
    additionalProperties: { type: 'string', maxLength: 3, pattern: NO_NUL },
  },
];

test('strings are checked as Ajv checks them: the same verdicts, fields and messages', () => {
  const unit = fc.constantFrom('a', 'b', '😀', '\ud83d', '\ude00', '\0', '語', 'é');
  const text = fc.string({ unit, maxLength: 8 });
  const value = fc.oneof(text, fc.dictionary(text, text, { maxKeys: 3 }), fc.constantFrom(null, 7));
  for (const schema of schemas) {
    const ours = validatorOf(schema);
    const theirs = new Ajv({ strictTypes: false, allowUnionTypes: true }).compile(schema);
    fc.assert(
      fc.property(value, (sent) => {
        expect(ours(sent)).toBe(theirs(sent));
        expect(ours.errors ?? null).toEqual(theirs.errors ?? null);
      }),
      { numRuns: 500 },
    );
  }
});

test('a text of 16 MiB takes no time for each of its characters', () => {
  const long = 'x'.repeat(2 ** 24);
  const group = validatorOf({ type: 'string', minLength: 1, maxLength: 256, pattern: NO_NUL });
  const error = validatorOf({ type: 'string', pattern: NO_NUL });
  const regExp = new RegExp(NO_NUL, 'u');
  const timed = (work: () => boolean) => {
    const started = process.cpuUsage();
    const verdicts = Array.from({ length: 10 }, work);
    const { user, system } = process.cpuUsage(started);
    return { verdict: verdicts[0], ms: (user + system) / 1000 };
  };
  const asRegExp = timed(() => regExp.test(long));
  const asError = timed(() => error(long));
  const asGroup = timed(() => group(long));
  expect([asError.verdict, asGroup.verdict]).toEqual([true, false]);
  // The regular expression needs more than the stack for this one.
  expect([error(`${long}語`), error(`${long}語\0`)]).toEqual([true, false]);
  expect(asError.ms).toBeLessThan(asRegExp.ms / 2);
  expect(asGroup.ms).toBeLessThan(asRegExp.ms / 10);
});
