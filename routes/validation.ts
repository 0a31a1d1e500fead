import { Ajv, type AnySchema } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifyServerOptions } from 'fastify';

type SchemaController = NonNullable<FastifyServerOptions['schemaController']>;
type BuildValidator = NonNullable<NonNullable<SchemaController['compilersFactory']>['buildValidator']>;

interface RoutePart {
  schema: AnySchema;
  httpPart: string;
}

/**
 * Bodies are taken as they are: nothing is dropped, coerced or filled in. Query and path come as strings, so there a
 * number or a boolean is read from its text.
 */
export const buildValidator = ((sharedSchemas: Record<string, AnySchema>) => {
  const schemas = Object.values(sharedSchemas);
  const options = { schemas, removeAdditional: false, allErrors: false, strictTypes: false };
  const strict = new Ajv({ ...options, coerceTypes: false });
  const textual = new Ajv({ ...options, coerceTypes: true });
  addFormats.default(strict, ['date-time', 'double']);
  addFormats.default(textual, ['date-time', 'double']);
  return ({ schema, httpPart }: RoutePart) => (httpPart === 'body' ? strict : textual).compile(schema);
  // Fastify passes a RoutePart, other than these types of its default compiler say.
}) as unknown as BuildValidator;
