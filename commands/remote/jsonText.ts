/**
 * JSON as text, so that every digit stays as it was sent: `JSON.parse` makes 12345678901234567890 another number.
 */

const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The same JSON with line breaks and indents. The text must be JSON. */
export function pretty(text: string): string {
  const tokens = text.match(TOKEN) ?? [];
  let out = '';
  let depth = 0;
  const newLine = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, i) => {
    if (token === '{' || token === '[') {
      depth++;
      const isEmpty = tokens[i + 1] === '}' || tokens[i + 1] === ']';
      out += token + (isEmpty ? '' : newLine());
    } else if (token === '}' || token === ']') {
      depth--;
      const isEmpty = tokens[i - 1] === '{' || tokens[i - 1] === '[';
      out += (isEmpty ? '' : newLine()) + token;
    } else if (token === ',') out += `,${newLine()}`;
    else out += token === ':' ? ': ' : token;
  });
  return out;
}

/** What stands between the commas of an object or an array, each as its tokens. The text must be JSON. */
function partsOf(text: string, open: '{' | '['): string[][] | undefined {
  const tokens = text.match(TOKEN) ?? [];
  if (tokens[0] !== open) return undefined;
  const parts: string[][] = [];
  let part: string[] = [];
  let depth = 0;
  for (const token of tokens.slice(1, -1)) {
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
    if (depth > 0 || token !== ',') part.push(token);
    else {
      parts.push(part);
      part = [];
    }
  }
  return part.length > 0 ? [...parts, part] : parts;
}

/** The members of an object, each value as its text. Undefined when it is no object. */
export function members(text: string): Map<string, string> | undefined {
  const parts = partsOf(text, '{');
  return (
    parts && new Map(parts.map(([name = '""', , ...value]) => [JSON.parse(name) as string, value.join('')]))
  );
}

/** The elements of an array, each as its text. None when it is no array. */
export const elements = (text: string): string[] => (partsOf(text, '[') ?? []).map((part) => part.join(''));

/** The text of an object with these members. */
export const objectOf = (parts: Iterable<[string, string]>): string =>
  `{${[...parts].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;

export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
