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

/** The members of an object, each value as its text. The text must be JSON. Undefined when it is no object. */
export function members(text: string): Map<string, string> | undefined {
  const tokens = text.match(TOKEN) ?? [];
  if (tokens[0] !== '{') return undefined;
  const found = new Map<string, string>();
  let depth = 0;
  let name: string | undefined;
  let value = '';
  for (const token of tokens.slice(1)) {
    const isEnd = depth === 0 && (token === ',' || token === '}');
    if (isEnd) {
      if (name !== undefined) found.set(name, value);
      name = undefined;
      value = '';
    } else if (name === undefined) name = JSON.parse(token) as string;
    else if (depth > 0 || token !== ':') value += token;
    if (token === '{' || token === '[') depth++;
    if ((token === '}' || token === ']') && !isEnd) depth--;
  }
  return found;
}

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
