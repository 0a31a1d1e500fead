import { type FieldError, Refusal } from '../../../src/errors.ts';
import { httpRefusal } from './httpRefusal.ts';

/** A wrong field, and the part of the request in which it is. An empty `path` is the whole part. */
export interface PartError extends FieldError {
  in: 'body' | 'query' | 'path' | 'header';
}

const inWords = (errors: PartError[]) =>
  `${errors.map((e) => `${e.path || `The ${e.in}`} ${e.message}`).join('; ')}.`;

/** The refusal of a request for what its parts say. */
export const invalidPart = (errors: [PartError, ...PartError[]], detail = inWords(errors)) =>
  new Refusal('invalid_request', detail, errors);

export const payloadTooLarge = (detail: string, errors?: PartError[]) =>
  httpRefusal('payload_too_large', detail, errors);

/** The field of a refused verb, with its part: what looks has its fields in the query, and what changes in the body. */
export const withPart = (error: FieldError | PartError, isChange: boolean): PartError =>
  'in' in error ? error : { in: isChange ? 'body' : 'query', ...error };
