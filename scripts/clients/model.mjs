/** What the three languages need of the document: its types, and its operations. Fails for a schema that it does not know. */
export function modelOf(document) {
  const types = Object.entries(document.components.schemas).map(([name, schema]) => ({
    name,
    description: schema.description,
    ...shapeOf(schema, name),
  }));
  const operations = Object.entries(document.paths).flatMap(([path, { parameters = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => operationOf(path, method, operation, parameters)),
  );
  return { types, operations };
}

const KNOWN = ['string', 'integer', 'number', 'boolean', 'array', 'object'];

/** `{ kind, ... , nullable }`. Kinds: ref, any, string, integer, number, boolean, enum, array, map, object. */
function shapeOf(schema, where) {
  if (schema.$ref) return { kind: 'ref', name: schema.$ref.split('/').at(-1) };
  if (schema.anyOf || schema.oneOf || schema.allOf) throw new Error(`${where} combines schemas`);
  if (schema.type === undefined) return { kind: 'any' };
  const types = [schema.type].flat();
  const nullable = types.includes('null');
  const [type] = types.filter((one) => one !== 'null');
  if (!KNOWN.includes(type) || types.length > (nullable ? 2 : 1))
    throw new Error(`${where} is of type ${types}`);
  if (schema.enum) return { kind: 'enum', values: schema.enum.filter((value) => value !== null), nullable };
  if (type === 'array') return { kind: 'array', items: shapeOf(schema.items, `${where}[]`), nullable };
  if (type !== 'object') return { kind: type, nullable };
  if (!schema.properties) {
    const values = schema.additionalProperties;
    return { kind: 'map', values: values ? shapeOf(values, where) : { kind: 'any' }, nullable };
  }
  const required = new Set(schema.required);
  return {
    kind: 'object',
    nullable,
    fields: Object.entries(schema.properties).map(([name, property]) => ({
      name,
      description: property.description,
      required: required.has(name),
      shape: shapeOf(property, `${where}.${name}`),
    })),
  };
}

function operationOf(path, method, operation, shared) {
  const parameters = [...shared, ...(operation.parameters ?? [])].map((parameter) => ({
    name: parameter.name,
    in: parameter.in,
    description: parameter.description,
    shape: shapeOf(parameter.schema, `${operation.operationId} ${parameter.name}`),
  }));
  const order = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const body = operation.requestBody?.content['application/json'].schema;
  const [status, answer] = Object.entries(operation.responses).find(([code]) => code.startsWith('2'));
  const content = Object.entries(answer.content ?? {})[0];
  return {
    id: operation.operationId,
    summary: operation.summary,
    method: method.toUpperCase(),
    path,
    segments: order.map((name) => parameters.find((one) => one.name === name && one.in === 'path')),
    query: parameters.filter((one) => one.in === 'query'),
    headers: parameters.filter((one) => one.in === 'header'),
    body: body && shapeOf(body, operation.operationId),
    bodyRequired: operation.requestBody?.required === true,
    answer:
      status === '204'
        ? { kind: 'none' }
        : content[0].includes('json')
          ? shapeOf(content[1].schema, operation.operationId)
          : { kind: 'text' },
  };
}

/** `Idempotency-Key` as `idempotency_key`. */
export const snake = (name) =>
  name
    .replaceAll('-', '_')
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase();

const INITIALS = new Set(['id', 'url', 'http', 'tls', 'api']);
/** `lease_token` as `LeaseToken`, `claim_id` as `ClaimID`. */
export const pascal = (name) =>
  snake(name)
    .split('_')
    .map((word) => (INITIALS.has(word) ? word.toUpperCase() : word.charAt(0).toUpperCase() + word.slice(1)))
    .join('');
