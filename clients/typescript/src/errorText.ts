/** Dibs keeps no more of it. */
const MOST = 16_384;
const MOST_OF_FIRST = 12_000;
const MOST_OF_CAUSE = 1000;
const MOST_CAUSES = 8;
const NO_TEXT = 'a value that has no text';
/** Where the stack begins below a text. `\s` would try many line breaks again from each of them. */
export const STACK = /\n[ \t]+at /;

/** What a value has may throw when it is read. */
function tried<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

const cut = (text: string, most: number) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
/** Dibs takes no NUL, and no half of a character. */
const clean = (text: string) => text.replaceAll('\0', '\uFFFD').replaceAll(/\p{Surrogate}/gu, '\uFFFD');

const field = (value: unknown, name: string): unknown =>
  tried(() => (value !== null && typeof value === 'object' ? (value as never)[name] : undefined), undefined);

function textOf(value: unknown): string {
  const message = field(value, 'message');
  if (typeof message === 'string') return message;
  const text = tried(() => String(value), '[object Object]');
  return text.startsWith('[object ') ? tried(() => JSON.stringify(value) ?? '', '') : text;
}

function causesOf(value: unknown): unknown[] {
  const [cause, errors] = [field(value, 'cause'), field(value, 'errors')];
  const group = tried(() => (Array.isArray(errors) ? errors.slice(0, MOST_CAUSES) : []), []);
  return cause === undefined || cause === null ? group : [cause, ...group];
}

/** The text of an error and of its causes, each once. A cause that is in the text already is left out. */
function chainOf(error: unknown, text: string, told: Set<unknown>): string {
  const more: string[] = [];
  for (const cause of causesOf(error)) {
    if (told.size > MOST_CAUSES || told.has(cause)) continue;
    told.add(cause);
    const said = chainOf(cause, cut(textOf(cause), MOST_OF_CAUSE), told);
    if (!text.includes(said)) more.push(said);
  }
  return [text, more.join('; ')].filter((part) => part.trim() !== '').join(': ');
}

/** What an error and its causes say, in one line if each does: `fetch failed: connect ECONNREFUSED 127.0.0.1:1`. */
export function messageOf(error: unknown): string {
  const text = chainOf(error, cut(textOf(error), MOST_OF_FIRST), new Set([error]));
  return clean(cut(text, MOST)) || NO_TEXT;
}

/** The same with its name before it and its stack below. Whatever is thrown has such a text. */
export function errorText(error: unknown): string {
  const [name, stack] = [field(error, 'name'), field(error, 'stack')];
  const message = messageOf(error);
  if (typeof name !== 'string' || typeof stack !== 'string') return message;
  const head = message === NO_TEXT ? name : `${name}: ${message}`;
  const trace = stack.search(STACK);
  return clean(cut(trace < 0 ? head : head + stack.slice(trace), MOST)) || NO_TEXT;
}
