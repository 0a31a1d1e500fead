import { Shown, safe, safeLine, shownTogether } from '../shown.ts';
import type { Output, Paint } from './terminal.ts';

export type Cell = string | number | null | undefined;

const textOf = (cell: Cell) => (cell === null || cell === undefined ? '' : safeLine(String(cell)));

/** How many columns of a terminal a text takes: East Asian and pictures take two. */
const widthOf = (text: string): number => {
  let width = 0;
  for (const char of text)
    width += /\p{M}|\u200d/u.test(char)
      ? 0
      : /[\u1100-\u115f\u2e80-\uffdc\u{1f300}-\u{1faff}]/u.test(char)
        ? 2
        : 1;
  return width;
};

function clipped(text: string, width: number): string {
  let kept = '';
  for (const char of text) {
    if (widthOf(kept + char) > width - 1) return `${kept}…`;
    kept += char;
  }
  return kept;
}

/** On a terminal, a line is cut at its edge, `taken` columns before it. */
export const fitting = (line: string, { isTTY, columns }: Output, taken = 0): string =>
  isTTY && columns && widthOf(line) > columns - taken ? clipped(line, Math.max(1, columns - taken)) : line;

/**
 * Rows below headings. Numbers stand at the right. On a terminal the last column is cut at its edge. Elsewhere nothing is
 * cut: a program may read it.
 */
export function table(headings: string[], rows: Cell[][], screen: Output, paint: Paint): Shown {
  const texts = rows.map((row) => row.map(textOf));
  const isNumber = headings.map((_, i) => rows.length > 0 && rows.every((row) => typeof row[i] === 'number'));
  const widths = headings.map((heading, i) =>
    Math.max(heading.length, ...texts.map((row) => widthOf(row[i] ?? ''))),
  );
  const line = (cells: string[]) => {
    const padded = cells.map((cell, i) => {
      const space = ' '.repeat(Math.max(0, (widths[i] ?? 0) - widthOf(cell)));
      return isNumber[i] ? space + cell : cell + space;
    });
    const whole = padded.join('  ').trimEnd();
    return new Shown(fitting(whole, screen));
  };
  return shownTogether([paint('bold', line(headings)), ...texts.map(line), ''], '\n');
}

/** One field per line. Those without a value are left out. */
export function fields(pairs: [string, Cell][], paint: Paint): Shown {
  const given = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
  const width = Math.max(0, ...given.map(([name]) => name.length));
  const indented = (value: Cell) => safe(String(value)).replaceAll('\n', `\n${' '.repeat(width + 2)}`);
  return shownTogether(
    given.map(
      ([name, value]) =>
        new Shown(`${paint('bold', name).text}${' '.repeat(width - name.length)}  ${indented(value)}\n`),
    ),
  );
}
