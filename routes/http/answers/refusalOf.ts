import type { FastifyError } from 'fastify';
import { Refusal } from '../../../src/errors.ts';
import { pointerTo } from '../json/pointer.ts';
import { httpRefusal, type ProblemCode } from './httpRefusal.ts';
import { invalidPart, type PartError } from './invalidPart.ts';
import { ruleInWords } from './ruleInWords.ts';

const PARTS: Record<string, PartError['in']> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
};

/** The JSON pointer to the field that a validation error is about: also to a missing or an unknown field. */
export function pointer(error: NonNullable<FastifyError['validation']>[number]): string {
  const { missingProperty, additionalProperty, propertyName } = error.params as Record<string, string>;
  // For an error in a name itself, such as its length, Ajv puts the name beside the params.
  const badName = (error as { propertyName?: string }).propertyName;
  const name = missingProperty ?? additionalProperty ?? propertyName ?? badName;
  return name === undefined ? error.instancePath : error.instancePath + pointerTo(name);
}

function invalidFields(error: FastifyError) {
  const part = PARTS[error.validationContext ?? 'body'] ?? 'body';
  // A name that is not valid comes twice: by the rule that it breaks, and as a name.
  const broken = (error.validation ?? []).filter(({ keyword }) => keyword !== 'propertyNames');
  const errors = broken.map((e) => ({ in: part, path: pointer(e), message: ruleInWords(e) }));
  return invalidPart(errors as [PartError]);
}

/** The refusal of a body as a whole. */
export const wholeBody = (message: string) => invalidPart([{ in: 'body', path: '', message }]);

/** The refusal of a body where an operation takes none. */
export const unwantedBody = () => wholeBody('must be empty: this operation takes none');

/** Where an operation takes no body, the size or the type of one does not matter: it must not be there. */
export function withoutBody(refusal: Refusal<ProblemCode>): Refusal<ProblemCode> {
  if (refusal.code === 'payload_too_large') return unwantedBody();
  if (refusal.code !== 'unsupported_media_type') return refusal;
  // It may be the {} of a client that did not declare it.
  return wholeBody(
    'must be empty, or {} with the header "content-type: application/json": this operation takes none',
  );
}

/** The requests that Fastify itself refuses, by its error codes. */
function fromFramework(error: FastifyError): Refusal<ProblemCode> | undefined {
  switch (error.code) {
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return httpRefusal(
        'unsupported_media_type',
        'The body is not declared as JSON. Send it with the header "content-type: application/json".',
      );
    case 'FST_ERR_BAD_URL':
      return invalidPart([{ in: 'path', path: '', message: 'must be percent-encoded UTF-8' }]);
    default:
      return undefined;
  }
}

/** The refusal that an error stands for; undefined when the error is a bug. */
export function refusalOf(error: FastifyError | Error): Refusal<ProblemCode> | undefined {
  if (error instanceof Refusal) return error;
  if ('validation' in error && error.validation) return invalidFields(error);
  if (error instanceof SyntaxError) return wholeBody(`must be JSON: ${error.message}`);
  return 'code' in error ? fromFramework(error as FastifyError) : undefined;
}
