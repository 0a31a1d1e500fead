import { Ajv, type AnySchema, type FormatDefinition, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifyServerOptions } from 'fastify';
import { readThenValidate, type Validator } from './query.ts';
import { patternOf, quickLengths } from './quickChecks.ts';

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;
type BuildValidator = NonNullable<NonNullable<SchemaController['compilersFactory']>['buildValidator']>;

interface RoutePart {
  schema: AnySchema;
  httpPart: string;
}

/** Node gives header names in lower case. A schema has them as the OpenAPI document shows them. */
function forHeaders(schema: AnySchema): AnySchema {
  const { properties, ...rest } = schema as { properties: Record<string, AnySchema> };
  const lower = Object.entries(properties).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...rest, properties: Object.fromEntries(lower) };
}

/**
 * A test checks that our schemas are valid JSON Schema. For the same check at each start, Ajv would compile JSON Schema
 * itself, twice: 350 ms and 20 MB of each replica.
 */
const OURS = { meta: false, validateSchema: false };

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;
const dateTime = addFormats.default.get('date-time') as FormatDefinition<string>;
/** Ajv knows which days and hours exist, but it also takes a space for the `T`, and offsets like `+02`. */
const isTime = (text: string) =>
  RFC_3339.test(text) && (dateTime.validate as (text: string) => boolean)(text);

/** Compiles a schema when it is first needed. To compile all of them takes a quarter of the processor time of a start. */
function compiledLater(compile: () => ValidateFunction): Validator {
  let compiled: ValidateFunction | undefined;
  const validate: Validator = (data) => {
    compiled ??= compile();
    const valid = compiled(data) as boolean;
    validate.errors = compiled.errors;
    return valid;
  };
  return validate;
}

function createAjv(schemas: AnySchema[]): Ajv {
  const ajv = new Ajv({
    ...OURS,
    code: { regExp: patternOf },
    removeAdditional: false,
    allErrors: false,
    strictTypes: false,
    coerceTypes: false,
  });
  for (const keyword of quickLengths) ajv.removeKeyword(keyword.keyword).addKeyword(keyword);
  // It names constants for generators of clients, and checks nothing.
  ajv.addVocabulary(['x-enum-varnames']);
  ajv.addSchema(schemas);
  addFormats.default(ajv, ['double']);
  ajv.addFormat('date-time', isTime);
  return ajv;
}

/** Fastify asks for each route. All routes of an app have the same schemas, and so one Ajv. */
let latest: { schemas: AnySchema[]; ajv: Ajv } | undefined;

/** Everything is validated as it is: nothing is dropped, coerced or filled in. Only the values of a query are read. */
export const buildValidator = ((sharedSchemas: Record<string, AnySchema>) => {
  const schemas = Object.values(sharedSchemas);
  const isSame =
    schemas.length === latest?.schemas.length && schemas.every((schema, i) => schema === latest?.schemas[i]);
  if (!latest || !isSame) latest = { schemas, ajv: createAjv(schemas) };
  const { ajv } = latest;
  return ({ schema, httpPart }: RoutePart) => {
    const validate = compiledLater(() => ajv.compile(httpPart === 'headers' ? forHeaders(schema) : schema));
    return httpPart === 'querystring' ? readThenValidate(schema, validate) : validate;
  };
  // Fastify passes a RoutePart, but its types describe the default compiler.
}) as unknown as BuildValidator;
