import { Ajv, type AnySchema } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifyServerOptions } from 'fastify';

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

/**
 * Bodies are validated as they are: nothing is dropped, coerced or filled in. Query and path are strings, so their
 * numbers and booleans are read from text.
 */
export const buildValidator = ((sharedSchemas: Record<string, AnySchema>) => {
  const schemas = Object.values(sharedSchemas);
  const options = { ...OURS, removeAdditional: false, allErrors: false, strictTypes: false, schemas };
  const strict = new Ajv({ ...options, coerceTypes: false });
  // With strictNumbers, "1e999", read as Infinity, would get past the maximum.
  const textual = new Ajv({ ...options, coerceTypes: true, strictNumbers: false });
  addFormats.default(strict, ['date-time', 'double']);
  addFormats.default(textual, ['date-time', 'double']);
  return ({ schema, httpPart }: RoutePart) => {
    if (httpPart === 'body') return strict.compile(schema);
    return textual.compile(httpPart === 'headers' ? forHeaders(schema) : schema);
  };
  // Fastify passes a RoutePart, but its types describe the default compiler.
}) as unknown as BuildValidator;
