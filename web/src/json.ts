/*
 * JSON as text. A payload is never parsed here: JavaScript would lose digits of large numbers, and members that have the same
 * name.
 */

/** A string, a run of other characters, or a bracket, comma or colon. White space in between is left out. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs;

const INDENT = '  ';
const OPENS = new Set(['{', '[']);
const CLOSES = new Set(['}', ']']);

/** The same JSON on many lines, with each string and number as it was written. */
export function prettyJson(text: string): string {
  let depth = 0;
  let before = '';
  const parts: string[] = [];
  const newLine = () => parts.push('\n', INDENT.repeat(Math.min(depth, 100)));
  for (const [token] of text.matchAll(TOKEN)) {
    if (CLOSES.has(token)) {
      depth--;
      if (!OPENS.has(before)) newLine();
    } else if (OPENS.has(before) || before === ',') newLine();
    if (OPENS.has(token)) depth++;
    parts.push(token === ':' ? ': ' : token);
    before = token;
  }
  return parts.join('');
}

/** The text of a member of a JSON object, as it was written. Undefined when it has no such member. */
export function memberText(text: string, name: string): string | undefined {
  let depth = 0;
  let key = '';
  let start = -1;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (depth === 1 && (token === ',' || token === '}') && start >= 0) {
      if (JSON.parse(key) === name) return text.slice(start, index).trim();
      start = -1;
      key = '';
    } else if (depth === 1 && start < 0) {
      if (token === ':') start = index + 1;
      else key = token;
    }
    if (OPENS.has(token)) depth++;
    if (CLOSES.has(token)) depth--;
  }
  return undefined;
}

/** Says what is wrong with a JSON text. Undefined when it is good. */
export function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
