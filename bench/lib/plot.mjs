// Draws plots as SVG without a library: lines and bars, readable on light and dark pages.
const WIDTH = 720;
const HEIGHT = 360;
const LEFT = 70;
const RIGHT = 20;
const TOP = 40;
const BOTTOM = 50;
const COLOURS = [
  ...['#2f6fde', '#d9822b', '#3d9a50', '#b5488f', '#7a7a7a'],
  ...['#14a3a8', '#c23b3b', '#8a6d1f', '#7a55d0', '#9bb830'],
];
/** With more lines than this, the names would cover the lines. They then stand beside the plot. */
const NAMES_INSIDE = 5;
const NAMES = 220;

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
const number = (value) =>
  Math.abs(value) >= 1000 ? `${+(value / 1000).toPrecision(3)}k` : `${+value.toPrecision(3)}`;
const text = (x, y, content, more = '') => `<text x="${x}" y="${y}" ${more}>${escaped(content)}</text>`;

/** A round number, at least `value`, so that the axis ends on a mark. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value) ?? value;
}

function frame(title, top, yLabel, content, width = WIDTH) {
  const marks = [0, 1, 2, 3, 4].map((i) => {
    const y = HEIGHT - BOTTOM - (i / 4) * (HEIGHT - TOP - BOTTOM);
    return (
      `<line x1="${LEFT}" y1="${y}" x2="${WIDTH - RIGHT}" y2="${y}" stroke="#8884"/>` +
      text(LEFT - 8, y + 4, number((top * i) / 4), 'text-anchor="end"')
    );
  });
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${HEIGHT}" font-family="sans-serif" font-size="12" fill="#777">\n` +
    `${text(LEFT, 20, title, 'font-size="15" font-weight="bold"')}\n${text(LEFT - 8, TOP - 8, yLabel, 'text-anchor="end"')}\n` +
    `${[...marks, ...content].join('\n')}\n</svg>\n`
  );
}

const heightOf = (value, top) => (Math.max(0, value) / top) * (HEIGHT - TOP - BOTTOM);

/** `bars` is a list of [label, value]. */
export function barChart({ title, bars, yLabel = '' }) {
  const top = ceiling(Math.max(...bars.map(([, value]) => value)));
  const step = (WIDTH - LEFT - RIGHT) / bars.length;
  const content = bars.map(([label, value], i) => {
    const x = LEFT + step * (i + 0.5);
    const y = HEIGHT - BOTTOM - heightOf(value, top);
    return (
      `<rect x="${x - step * 0.3}" y="${y}" width="${step * 0.6}" height="${heightOf(value, top)}" fill="${COLOURS[0]}"/>` +
      text(x, y - 5, number(value), 'text-anchor="middle"') +
      text(x, HEIGHT - BOTTOM + 18, label, 'text-anchor="middle" font-size="11"')
    );
  });
  return frame(title, top, yLabel, content);
}

/** `series` is a list of { name, points: [x, y][] }. `logX` is for numbers of workers, for example. */
export function lineChart({ title, series, xLabel, yLabel = '', logX = false }) {
  const points = series.flatMap((s) => s.points);
  const top = ceiling(Math.max(...points.map(([, y]) => y)));
  const scale = logX ? Math.log2 : (x) => x;
  const xs = [...new Set(points.map(([x]) => x))].sort((a, b) => a - b);
  const [from, to] = [scale(xs[0]), scale(xs.at(-1))];
  const xOf = (x) => LEFT + ((scale(x) - from) / (to - from || 1)) * (WIDTH - LEFT - RIGHT);
  const yOf = (y) => HEIGHT - BOTTOM - heightOf(y, top);
  const every = Math.ceil(xs.length / 12);
  const beside = series.length > NAMES_INSIDE;
  const nameOf = (name, i, colour) =>
    beside
      ? text(WIDTH, TOP + 10 + 20 * i, name, `fill="${colour}"`)
      : text(WIDTH - RIGHT, 20 + 16 * i, name, `text-anchor="end" fill="${colour}"`);
  const content = [
    ...xs
      .filter((_, i) => i % every === 0)
      .map((x) => text(xOf(x), HEIGHT - BOTTOM + 18, number(x), 'text-anchor="middle"')),
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, xLabel, 'text-anchor="middle"'),
    ...series.flatMap(({ name, points: line }, i) => {
      const colour = COLOURS[i % COLOURS.length];
      return [
        `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${line.map(([x, y]) => `${xOf(x).toFixed(1)},${yOf(y).toFixed(1)}`).join(' ')}"/>`,
        nameOf(name, i, colour),
      ];
    }),
  ];
  return frame(title, top, yLabel, content, beside ? WIDTH + NAMES : WIDTH);
}
