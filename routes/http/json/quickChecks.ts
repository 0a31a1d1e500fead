import { _, type CodeKeywordDefinition, type KeywordCxt, str } from 'ajv';
import { NO_NUL } from '../../schemas/common.ts';

/*
 * Checks of strings that look at a long one at once, and not character by character. Ajv counts the characters of each
 * string, twice: 13 MB of headers took 40 ms, and a group of 16 MiB as long.
 */

/** Whether a text has more characters than this. A character takes one or two units of UTF-16. */
const isLonger = (text: string, most: number): boolean =>
  text.length > most && (text.length > 2 * most || [...text].length > most);

/** Whether a text has less characters than this. */
const isShorter = (text: string, least: number): boolean =>
  text.length < least || (text.length < 2 * least && [...text].length < least);

function lengthKeyword(
  keyword: string,
  isBad: (text: string, limit: number) => boolean,
  word: string,
): CodeKeywordDefinition & { keyword: string } {
  return {
    keyword,
    type: 'string',
    schemaType: 'number',
    before: 'pattern',
    error: {
      message: ({ schemaCode }) => str`must NOT have ${word} than ${schemaCode} characters`,
      params: ({ schemaCode }) => _`{limit: ${schemaCode}}`,
    },
    code(cxt: KeywordCxt) {
      const check = cxt.gen.scopeValue('func', { ref: isBad });
      cxt.fail(_`${check}(${cxt.data}, ${cxt.schemaCode})`);
    },
  };
}

/** `maxLength` and `minLength`, with the meaning and the messages of Ajv. */
export const quickLengths = [
  lengthKeyword('maxLength', isLonger, 'more'),
  lengthKeyword('minLength', isShorter, 'fewer'),
];

const noNul = { test: (text: string) => !text.includes('\0'), toString: () => NO_NUL };

/** What Ajv tests a `pattern` with. */
export const patternOf = Object.assign(
  (pattern: string, flags: string) => (pattern === NO_NUL ? noNul : new RegExp(pattern, flags)),
  { code: 'new RegExp' },
);
