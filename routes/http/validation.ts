import { Ajv, type AnySchema } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifyServerOptions } from 'fastify';

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;
type BuildValidator = NonNullable<NonNullable<SchemaController['compilersFactory']>['buildValidator']>;

interface RoutePart {
  schema: AnySchema;
  httpPart: string;
}

/** Node writes the names of headers in lower case; a schema, which is shown, as one writes them. */
function forHeaders(schema: AnySchema): AnySchema {
  const { properties, ...rest } = schema as { properties: Record<string, AnySchema> };
  const lower = Object.entries(properties).map(([name, value]) => [name.toLowerCase(), value]);
  return { ...rest, properties: Object.fromEntries(lower) };
}

/**
 * Our schemas are held against JSON Schema by a test. Ajv would do so at each start, and compile JSON Schema itself for
 * it, twice: 350 ms and 20 MB of each replica.
 */
const OURS = { meta: false, validateSchema: false };

/**
 * Bodies are taken as they are: nothing is dropped, coerced or filled in. Query and path come as strings, so there a
 * number or a boolean is read from its text.
 */
export const buildValidator = ((sharedSchemas: Record<string, AnySchema>) => {
  const schemas = Object.values(sharedSchemas);
  const options = { ...OURS, removeAdditional: false, allErrors: false, strictTypes: false, schemas };
  const strict = new Ajv({ ...options, coerceTypes: false });
  // With strict numbers, an Infinity read from "1e999" would pass by its maximum.
  const textual = new Ajv({ ...options, coerceTypes: true, strictNumbers: false });
  addFormats.default(strict, ['date-time', 'double']);
  addFormats.default(textual, ['date-time', 'double']);
  return ({ schema, httpPart }: RoutePart) => {
    if (httpPart === 'body') return strict.compile(schema);
    return textual.compile(httpPart === 'headers' ? forHeaders(schema) : schema);
  };
  // Fastify passes a RoutePart, other than these types of its default compiler say.
}) as unknown as BuildValidator;
