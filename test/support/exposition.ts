/** The metrics of an answer: every number by its name and labels, as Prometheus reads them. */
export interface Scrape {
  /** The number with exactly these labels. Undefined when there is none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
  /** The sum over all series that have these labels. */
  sum(name: string, labels?: Record<string, string>): number;
  /** The names of all series: `name{label="value"}`. */
  series: Map<string, number>;
  types: Map<string, string>;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|[+-]Inf|-?[0-9.]+(?:e[+-]?[0-9]+)?)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/y;

function labelsIn(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < text.length) {
    const found = LABEL.exec(text);
    if (!found) throw new Error(`Bad labels: ${line}`);
    labels[found[1] as string] = found[2] as string;
  }
  return labels;
}

const keyOf = (name: string, labels: Record<string, string>) =>
  `${name}{${Object.entries(labels)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, value]) => `${label}="${value}"`)
    .join()}}`;

/** Reads the text format of Prometheus. @throws Error for a line that is none, a series that comes twice, or a stray one */
export function parseMetrics(text: string): Scrape {
  const series = new Map<string, number>();
  const all: { name: string; labels: Record<string, string>; value: number }[] = [];
  const types = new Map<string, string>();
  let family = '';
  for (const line of text.split('\n')) {
    if (line === '' || line === '# EOF' || line.startsWith('# HELP ')) continue;
    const type = /^# TYPE (\S+) (counter|gauge|histogram)$/.exec(line);
    if (type) {
      family = type[1] as string;
      if (types.has(family)) throw new Error(`${family} comes twice`);
      types.set(family, type[2] as string);
      continue;
    }
    const found = LINE.exec(line);
    if (!found) throw new Error(`Not a metric: ${line}`);
    const name = found[1] as string;
    const base = name.replace(types.get(family) === 'histogram' ? /_(bucket|sum|count)$/ : /$^/, '');
    if (base !== family && base !== `${family}_total`) throw new Error(`${name} stands under ${family}`);
    const labels = labelsIn(found[2] ?? '', line);
    const key = keyOf(name, labels);
    if (series.has(key)) throw new Error(`${key} comes twice`);
    const value = Number((found[3] as string).replace('Inf', 'Infinity'));
    series.set(key, value);
    all.push({ name, labels, value });
  }
  return {
    series,
    types,
    value: (name, labels = {}) => series.get(keyOf(name, labels)),
    sum: (name, labels = {}) =>
      all
        .filter((one) => one.name === name)
        .filter((one) => Object.entries(labels).every(([label, value]) => one.labels[label] === value))
        .reduce((sum, one) => sum + one.value, 0),
  };
}
