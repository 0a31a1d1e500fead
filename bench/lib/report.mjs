import { show } from './stats.mjs';

const cell = (value) => show(value).replaceAll('|', '\\|');

/** A table in Markdown. Numbers are shown with three digits. */
export function markdownTable(head, rows) {
  const line = (cells) => `| ${cells.map(cell).join(' | ')} |`;
  const marks = head.map((_, i) => (rows.every((row) => typeof row[i] === 'number') ? '---:' : '---'));
  return [line(head), `| ${marks.join(' | ')} |`, ...rows.map(line)].join('\n');
}

/** Collects the findings of a benchmark, and prints each at once, as Markdown. */
export function openReport(name, title, settings) {
  const found = { name, title, settings, lines: [], plots: [], text: [] };
  const say = (text) => {
    found.text.push(text);
    process.stdout.write(`${text}\n\n`);
  };
  say(`## ${title}`);
  say(
    Object.entries(settings)
      .map(([key, value]) => `- ${key}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
      .join('\n'),
  );

  return {
    found,
    say,
    table: (caption, head, rows) => say(`${caption}\n\n${markdownTable(head, rows)}`),

    /**
     * Adds a line to the table of targets. `number` is its number there. Its target is `atLeast` or `atMost`;
     * with neither, the value is only shown.
     */
    line({ number, what, value, unit = '', atLeast, atMost, against = '' }) {
      const reached =
        atLeast !== undefined ? value >= atLeast : atMost !== undefined ? value <= atMost : undefined;
      const target =
        atLeast !== undefined
          ? `at least ${atLeast}${unit}`
          : atMost !== undefined
            ? `at most ${atMost}${unit}`
            : 'shown';
      const measured = typeof value === 'number' ? `${show(value)}${unit}` : value;
      found.lines.push({ number, what, against, measured, target, reached });
      const verdict = reached === undefined ? '' : reached ? ' – reached' : ' – NOT REACHED';
      say(`**#${number} ${what}: ${measured}** (${target})${verdict}`);
    },

    plot(file, svg) {
      found.plots.push({ file, svg });
    },
  };
}

/** The lines of several benchmarks as one table. */
export const linesTable = (lines) =>
  markdownTable(
    ['#', 'what', 'against', 'measured', 'target', 'reached'],
    lines
      .toSorted((a, b) => a.number - b.number)
      .map((l) => [
        `${l.number}`,
        l.what,
        l.against,
        l.measured,
        l.target,
        l.reached === undefined ? '' : l.reached ? 'yes' : 'no',
      ]),
  );
