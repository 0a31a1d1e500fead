import type { AnySchema, ErrorObject } from 'ajv';
import type { RouteOptions } from 'fastify';
import { Type } from 'typebox';
import { pointerTo } from './pointer.ts';

const BOOLEANS: Record<string, boolean> = { true: true, 1: true, false: false, 0: false };

/** How a value of a query is read, by its type. A text that is not in this notation stays a text, and is refused. */
const READ: Record<string, (text: string) => unknown> = {
  integer: (text) => (/^-?\d+$/.test(text) ? Number(text) : text),
  number: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text),
  boolean: (text) => (Object.hasOwn(BOOLEANS, text) ? BOOLEANS[text] : text),
};

/** A parameter that is given twice is a list. No parameter of ours is one. */
function twiceIn(query: Record<string, unknown>, known: string[]): Partial<ErrorObject>[] | undefined {
  const twice = known.find((name) => Array.isArray(query[name]));
  if (twice === undefined) return undefined;
  return [{ instancePath: pointerTo(twice), params: {}, message: 'must not be given twice' }];
}

/** What Fastify calls. It reads `errors` after an answer of false. */
export interface Validator {
  (data: unknown): boolean;
  errors?: Partial<ErrorObject>[] | null | undefined;
}

/** Reads the numbers and booleans of a query, and then validates it. */
export function readThenValidate(schema: AnySchema, validate: Validator): Validator {
  const { properties } = schema as { properties: Record<string, { type?: string }> };
  const readers = Object.entries(properties).flatMap(([name, { type = '' }]) => {
    const read = READ[type];
    return read ? [{ name, read }] : [];
  });
  const readAndValidate: Validator = (data) => {
    const query = data as Record<string, unknown>;
    for (const { name, read } of readers) {
      const text = query[name];
      if (typeof text === 'string') query[name] = read(text);
    }
    const valid = validate(query);
    readAndValidate.errors = valid ? null : (twiceIn(query, Object.keys(properties)) ?? validate.errors);
    return valid;
  };
  return readAndValidate;
}

const NO_QUERY = Type.Object({}, { additionalProperties: false });
/** Prometheus, and whoever probes, may send parameters of their own. */
const ANY_QUERY = ['none', 'getMetrics'];

/** Makes a route without a query refuse one: who sends a parameter means something by it. */
export function refuseUnknownParameters(route: RouteOptions): void {
  const { querystring, operationId } = (route.schema ?? {}) as { querystring?: object; operationId?: string };
  const { verb } = route.config ?? {};
  if (operationId === undefined || querystring !== undefined || ANY_QUERY.includes(verb ?? 'none')) return;
  route.schema = { ...route.schema, querystring: NO_QUERY };
}
