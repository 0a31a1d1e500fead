/** One field of an answer has at most so many characters. */
const LONGEST_FIELD = 4_000;
/** And a whole answer so many: an assistant reads all of it. */
const LONGEST_ANSWER = 40_000;

/** JSON that others wrote, of any shape. */
const FOREIGN = ['payload', 'headers', 'progress', 'result'];

const cutText = (text: string): string =>
  text.length <= LONGEST_FIELD
    ? text
    : `${text.slice(0, LONGEST_FIELD)}… (cut: it has ${text.length} characters)`;

function cutField(name: string, value: unknown): unknown {
  if (typeof value === 'string') return cutText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (FOREIGN.includes(name)) {
    const text = JSON.stringify(value);
    return text.length <= LONGEST_FIELD ? value : cutText(text);
  }
  if (Array.isArray(value)) return value.map((item) => cutField(name, item));
  return cutFields(value);
}

const cutFields = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, field]) => [name, cutField(name, field)]));

/** An answer as JSON of a bounded size. What is left out is said. A page without its last items has no cursor that would pass them over. */
export function answerText(answer: object): string {
  const { next_cursor, ...fields } = cutFields(answer);
  const whole = JSON.stringify(next_cursor === undefined ? fields : { ...fields, next_cursor });
  if (whole.length <= LONGEST_ANSWER) return whole;
  const lists = Object.entries(fields).filter((entry): entry is [string, unknown[]] =>
    Array.isArray(entry[1]),
  );
  const sizeOf = (list: unknown[]) => JSON.stringify(list).length;
  const [name, list] = lists.sort(([, a], [, b]) => sizeOf(b) - sizeOf(a))[0] ?? ['', []];
  const shorter = (count: number) =>
    JSON.stringify({
      ...fields,
      [name]: list.slice(0, count),
      left_out: `${list.length - count} of ${list.length} ${name}, to keep this answer short. Ask with a smaller limit, or a narrower filter.`,
    });
  let count = list.length;
  while (count > 0 && shorter(count).length > LONGEST_ANSWER) count = Math.floor(count / 2);
  return shorter(count);
}
