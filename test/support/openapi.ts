import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { Answer } from './service.ts';
import { textOf } from './sources.ts';

interface Response {
  content?: Record<string, { examples?: object }>;
  headers?: object;
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Response & { $ref?: string }> }>>;
  components: { responses: Record<string, Response> };
}

/** The headers that mean something for users. */
const HEADERS = ['Location', 'Retry-After', 'Preference-Applied', 'Idempotent-Replayed'];

const escaped = (part: string) => part.replaceAll('~', '~0').replaceAll('/', '~1');

/**
 * As `npm run generate` wrote it: building it takes a second, in each file. test/http/openapi.test.ts holds that the
 * routes generate the same.
 */
const document: Document = JSON.parse(textOf('openapi/openapi.json'));
const { paths, components } = document;

const ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
addFormats.default(ajv);
ajv.addSchema({ ...document, $id: 'http://dibs.test/openapi.json' });

const templates = Object.keys(paths)
  .map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }))
  // A literal path goes before one with parameters.
  .sort((a, b) => Number(a.template.includes('{')) - Number(b.template.includes('{')));

const validators = new Map<string, ValidateFunction>();

/** Compiles each schema once: that takes longer than most requests. */
function validatorAt(pointer: string): ValidateFunction {
  const validate =
    validators.get(pointer) ?? ajv.compile({ $ref: `http://dibs.test/openapi.json#/${pointer}/schema` });
  validators.set(pointer, validate);
  return validate;
}

/** Fails for an answer that the document does not describe, and for a refusal that is not a problem document. */
export function checkAnswer(method: string, path: string, answer: Answer): void {
  const type = String(answer.headers['content-type'] ?? '').split(';')[0] as string;
  if (answer.status >= 400 && method !== 'HEAD' && type !== 'application/problem+json')
    throw new Error(`${method} ${path} answered ${answer.status} as ${type}: ${answer.text}`);
  const found = templates.find(({ pattern }) => pattern.test(path.split('?')[0] as string));
  const operation = found && paths[found.template]?.[method.toLowerCase()];
  if (!found || !operation) return;
  const own = operation.responses[answer.status];
  const shared = own?.$ref?.split('/').at(-1);
  const response = shared === undefined ? own : components.responses[shared];
  if (!response)
    throw new Error(`${method} ${found.template} does not document ${answer.status}: ${answer.text}`);
  for (const name of HEADERS)
    if (answer.headers[name.toLowerCase()] !== undefined && !Object.hasOwn(response.headers ?? {}, name))
      throw new Error(`${method} ${found.template} does not document ${name} with ${answer.status}`);
  if (!response.content) return;
  if (!response.content[type])
    throw new Error(`${method} ${found.template} does not document ${answer.status} as ${type}`);
  const { code } = (answer.body ?? {}) as { code?: string };
  if (answer.status >= 400 && !Object.hasOwn(response.content[type]?.examples ?? {}, code ?? ''))
    throw new Error(`${method} ${found.template} does not document ${code}`);
  const where =
    shared === undefined
      ? ['paths', found.template, method.toLowerCase(), 'responses', String(answer.status)]
      : ['components', 'responses', shared];
  const pointer = [...where, 'content', type].map(escaped).join('/');
  const validate = validatorAt(pointer);
  if (!validate(type.includes('json') ? answer.body : answer.text))
    throw new Error(`${method} ${path} ${answer.status}: ${ajv.errorsText(validate.errors)}\n${answer.text}`);
}
