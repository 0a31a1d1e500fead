import { safe } from '../src/unseen.ts';

export { safe };

/*
 * What a terminal may see: src/unseen.ts, on one line where line breaks would look like lines of Dibs.
 */

/** Text in one line. */
export const safeLine = (text: string): string => safe(text).replaceAll(/\s+/g, ' ');

/** Text that a terminal may see. It is made by the functions below. Only this folder makes it by itself, of what it has made safe. */
export class Shown {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Value = Shown | string | number | null | undefined;

const textOf = (value: Value): string =>
  value instanceof Shown ? value.text : safeLine(value === null || value === undefined ? '' : String(value));

/** What stands between the values is shown as it is written. Each value is shown on one line: shown`${id} is ${state}.` */
export const shown = (parts: TemplateStringsArray, ...values: Value[]): Shown =>
  new Shown(parts.map((part, i) => part + (i < values.length ? textOf(values[i]) : '')).join(''));

/** Text that may have several lines. */
export const shownLines = (text: string): Shown => new Shown(safe(text));

/** Several, one behind the other. */
export const shownTogether = (all: Value[], between = ''): Shown => new Shown(all.map(textOf).join(between));

/**
 * JSON, exactly as it is. For a terminal, what nobody sees is escaped. It can stand in strings only, so this is the same JSON.
 */
export const jsonFor = ({ isTTY }: { isTTY?: boolean }, json: string): string => (isTTY ? safe(json) : json);
