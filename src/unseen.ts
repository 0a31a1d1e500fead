/*
 * Text of jobs, of the server and of other people may hold characters that nobody sees, and that move the cursor, set the title, or turn
 * the direction of the text. Terminals and the dashboard show them as \u001b, and do not obey them.
 */

/** All control characters, and all that nobody sees: the direction of text, tags, line separators. Emoji keep their joiners. */
const UNSEEN = /(?!\n|\t|\u200c|\u200d|[\ufe00-\ufe0f])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{DI}]/gu;

const escaped = (char: string) =>
  Array.from(
    { length: char.length },
    (_, i) => `\\u${char.charCodeAt(i).toString(16).padStart(4, '0')}`,
  ).join('');

/** Text in several lines. */
export const safe = (text: string): string => text.replaceAll(UNSEEN, escaped);
