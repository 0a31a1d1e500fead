import { RawJson } from '../src/job.ts';

const TOKEN = /"(?:[^"\\]|\\.)*"|[^\s"]+/g;

/** JSON on one line, else as it was sent. */
export const withoutSpace = (json: string): string => (json.match(TOKEN) ?? []).join('');

/** JSON with each string written in one way: texts that say the same are the same text. */
const normal = (json: string): string =>
  withoutSpace(json).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => JSON.stringify(JSON.parse(text)));

/** The fields of an entry, those of objects inside by paths such as `backoff.kind`, each value as its JSON text. */
export function fieldsOf(entry: object, before = ''): Map<string, string> {
  const fields = new Map<string, string>();
  for (const [name, value] of Object.entries(entry)) {
    if (value === undefined) continue;
    const path = `${before}${name}`;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (value instanceof RawJson) fields.set(path, normal(value.text));
    else if (isObject) for (const [inner, text] of fieldsOf(value, `${path}.`)) fields.set(inner, text);
    else fields.set(path, JSON.stringify(value));
  }
  return fields;
}

/** A field that differs. `before` and `after` are JSON texts. Undefined: it is not there. */
export interface FieldChange {
  path: string;
  before?: string;
  after?: string;
  /** The file does not name it, so it takes its default. */
  isDefault?: true;
}

export function changesBetween(before: object, after: object): FieldChange[] {
  const [old, wished] = [fieldsOf(before), fieldsOf(after)];
  const paths = new Set([...old.keys(), ...wished.keys()]);
  return [...paths]
    .filter((path) => old.get(path) !== wished.get(path))
    .map((path) => ({
      path,
      ...(old.has(path) && { before: old.get(path) as string }),
      ...(wished.has(path) && { after: wished.get(path) as string }),
    }));
}
