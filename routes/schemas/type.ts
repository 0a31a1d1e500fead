import type { Type as TypeBox } from 'typebox';

const OPTIONAL = Symbol('optional');

/**
 * The few of TypeBox's types that our schemas are made of, written as the JSON Schema that they are. Its types come from
 * TypeBox; its code, 300 modules, would take each replica 100 ms to load and 5 MB to hold.
 */
export const Type = {
  String: (options?: object) => ({ type: 'string', ...options }),
  Integer: (options?: object) => ({ type: 'integer', ...options }),
  Number: (options?: object) => ({ type: 'number', ...options }),
  Boolean: (options?: object) => ({ type: 'boolean', ...options }),
  Array: (items: object, options?: object) => ({ type: 'array', items, ...options }),
  Optional: (schema: object) => Object.defineProperty({ ...schema }, OPTIONAL, { value: true }),
  Unsafe: (schema: object) => ({ ...schema }),
  Object: (properties: Record<string, object>, options?: object) => {
    const required = Object.keys(properties).filter((name) => !(OPTIONAL in (properties[name] as object)));
    return { type: 'object', ...(required.length > 0 ? { required } : {}), properties, ...options };
  },
} as unknown as Pick<
  typeof TypeBox,
  'String' | 'Integer' | 'Number' | 'Boolean' | 'Array' | 'Optional' | 'Unsafe' | 'Object'
>;
