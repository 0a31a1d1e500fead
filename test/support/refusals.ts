import { textOf } from './sources.ts';

// biome-ignore lint/suspicious/noExplicitAny: the document.
const { paths, components }: any = JSON.parse(textOf('openapi/openapi.json'));

/** The codes that the document names at an operation. */
function codesAt(responses: Record<string, { $ref?: string }>): string[] {
  const shared = Object.values(responses).map(
    ({ $ref }) => components.responses[$ref?.split('/').at(-1) ?? ''],
  );
  return shared.flatMap(
    (answer) => answer?.content['application/problem+json'].schema.patternProperties['^code$'].enum ?? [],
  );
}

/** What each operation of the document can be refused with, by its name. */
export const DOCUMENTED: Record<string, string[]> = Object.fromEntries(
  Object.values<object>(paths)
    .flatMap((path) => Object.values(path))
    .map(({ operationId, responses }) => [operationId, codesAt(responses)]),
);

/** Refusals of any request, of callers, and of bodies. Each is caused in the same way at every operation. */
export const COMMON = [
  'invalid_request',
  'unauthorized',
  'forbidden',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'headers_too_large',
  'internal',
  'unavailable',
  'overloaded',
] as const;
