import { expect, test } from 'vitest';
import { ruleInWords } from '../../routes/http/answers/ruleInWords.ts';
import { textOf } from '../support/sources.ts';

type Schema = { [keyword: string]: unknown };
const document = JSON.parse(textOf('openapi/openapi.json'));

/** What no value breaks, or what says it by its parts. */
const NO_RULES = [
  'description',
  'examples',
  'default',
  'title',
  'properties',
  'items',
  '$ref',
  'propertyNames',
  'x-enum-varnames',
];

const isSchema = (value: unknown): value is Schema => typeof value === 'object' && value !== null;

/** The schema, and all that it has within. */
function within(schema: unknown, seen = new Set<unknown>()): Schema[] {
  if (!isSchema(schema) || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref, properties = {}, ...rest } = schema;
  const target = typeof $ref === 'string' ? document.components.schemas[$ref.split('/').at(-1) ?? ''] : null;
  const parts = [
    target,
    rest.items,
    rest.propertyNames,
    rest.additionalProperties,
    ...Object.values(properties as Schema),
  ];
  return [schema, ...parts.flatMap((part) => within(part, seen))];
}

/** Each rule that a request may break, with what Ajv says of it. */
const rules = Object.values(document.paths as Record<string, Record<string, Schema>>)
  .flatMap((path) => Object.values(path))
  .flatMap(({ parameters = [], requestBody }) => [
    ...(parameters as Schema[]).map(({ schema }) => schema),
    (requestBody as { content: Record<string, Schema> } | undefined)?.content['application/json']?.schema,
  ])
  .flatMap((schema) => within(schema))
  .flatMap((schema) => Object.entries(schema))
  .filter(
    ([keyword, value]) =>
      !NO_RULES.includes(keyword) && !(keyword === 'additionalProperties' && value !== false),
  );

test('there are rules of many kinds', () =>
  expect(new Set(rules.map(([keyword]) => keyword)).size).toBeGreaterThan(12));

const distinct = [...new Map(rules.map((rule) => [JSON.stringify(rule), rule])).values()];
test.each(distinct)('a field that breaks the rule %s: %j is told so in words', (keyword, value) => {
  const params = { limit: value, type: value, pattern: value, allowedValues: value };
  const words = ruleInWords({ keyword, params, message: 'by Ajv' });
  expect(words).toMatch(/^(must|is) [\w]/);
  expect(words).not.toMatch(/undefined|[<>]=|\bNOT\b/);
});
