type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Members = { [name: string]: Json };

/** The parts of a schema of 3.1 that 3.0 spells differently. `propertyNames` is a check that it cannot say. */
function schema30({ type, examples, propertyNames: _, ...rest }: Members): Members {
  const types = [type ?? []].flat() as string[];
  const [one] = types.filter((name) => name !== 'null');
  return {
    ...(one === undefined ? {} : { type: one }),
    ...(types.includes('null') ? { nullable: true } : {}),
    ...rest,
    ...(Array.isArray(examples) ? { example: examples[0] as Json } : {}),
    ...(typeof rest.exclusiveMinimum === 'number'
      ? { minimum: rest.exclusiveMinimum, exclusiveMinimum: true }
      : {}),
  };
}

/** These hold values that users see, and no schemas. */
const VALUES = new Set(['examples', 'example', 'enum', 'required', 'x-enum-varnames']);

const mapped = (members: Members, convert: (value: Json, name: string) => Json): Members =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => [name, convert(value, name)]));

function converted(node: Json): Json {
  if (Array.isArray(node)) return node.map(converted);
  if (typeof node !== 'object' || node === null) return node;
  // 3.0 reads nothing beside a $ref.
  if (typeof node.$ref === 'string') return { $ref: node.$ref };
  const isSchema = 'type' in node || 'propertyNames' in node || Array.isArray(node.examples);
  return mapped(isSchema ? schema30(node) : node, (value, name) => {
    if (VALUES.has(name)) return value;
    // A property may have the name of a keyword, such as `type`.
    return name === 'properties' ? mapped(value as Members, converted) : converted(value);
  });
}

/**
 * The same document as OpenAPI 3.0.3, for tools that refuse 3.1. It says no less, but for three things that stand in words only:
 * how long the names of a job's headers may be, the scope that an operation needs, and the codes of each answer.
 */
export function toOpenApi30(document: object): object {
  const { info, ...rest } = converted(document as Members) as Members;
  const license = { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' };
  const paths = mapped(rest.paths as Members, (path) =>
    mapped(path as Members, (operation) => {
      const { security } = operation as { security: Members[] };
      return { ...(operation as Members), security: security.map((choice) => mapped(choice, () => [])) };
    }),
  );
  return { ...rest, paths, openapi: '3.0.3', info: { ...(info as Members), license } };
}
