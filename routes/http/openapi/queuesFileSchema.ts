import { namedSchemas } from '../../schemas/named.ts';
import { QueuesFile } from '../../schemas/queuesFile.ts';

const REF = /^(\w+)#$/;

/** The schema, with references into its own definitions. What is referred to is added to them. */
function within(value: unknown, definitions: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => within(item, definitions));
  if (typeof value !== 'object' || value === null) return value;
  const { $id, $ref, ...rest } = value as Record<string, unknown>;
  const own = Object.fromEntries(
    Object.entries(rest).map(([name, inner]) => [name, within(inner, definitions)]),
  );
  const [, name] = REF.exec(typeof $ref === 'string' ? $ref : '') ?? [];
  if (name === undefined) return own;
  if (!(name in definitions)) {
    // It stands there already when it refers to itself.
    definitions[name] = {};
    definitions[name] = within(
      namedSchemas.find((schema) => schema.$id === name),
      definitions,
    );
  }
  // Draft 7 passes over what stands beside a reference.
  const target = { $ref: `#/definitions/${name}` };
  return Object.keys(own).length === 0 ? target : { allOf: [target], ...own };
}

/** The JSON Schema of a queues file, in one piece, for editors. They know draft 7 best. */
export function queuesFileSchema(): object {
  const definitions: Record<string, unknown> = {};
  const file = within(QueuesFile, definitions) as object;
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Queues of Dibs as code',
    ...file,
    definitions: Object.fromEntries(Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}
