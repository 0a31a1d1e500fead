import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { chartStart } from './chartStart.ts';
import { compact, duration, shortDuration } from './format.ts';
import { MINUTES, type Sample } from './samples.ts';

type Measure = Exclude<keyof Sample, 'at'>;

/** How far back a chart goes. */
export interface Range {
  minutes: number;
  title: string;
  /** For who hears it: `the last hour`. */
  spoken: string;
}

export interface Line {
  of: Measure;
  title: string;
  /** The name of a colour of the style sheet. */
  colour: string;
}

const colourOf = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Changes when the colours of the system do. */
function useScheme(): boolean {
  const media = matchMedia('(prefers-color-scheme: dark)');
  const [isDark, setDark] = useState(media.matches);
  useEffect(() => {
    const changed = () => setDark(media.matches);
    media.addEventListener('change', changed);
    return () => media.removeEventListener('change', changed);
  });
  return isDark;
}

const HEIGHT = 120;
/** Steps of an axis of seconds that are round in minutes, hours and days, too. */
const ROUND_SECONDS = [
  1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 432_000, 864_000, 8_640_000,
];
type Unit = 'jobs' | 'seconds' | 'per second';

const hour = (at: number, digits: number) => new Date(at * 1000).toTimeString().slice(0, digits);

const isShort = (ticks: number[]) => (ticks.at(-1) ?? 0) - (ticks[0] ?? 0) < SECONDS_BELOW;

function writer(unit: Unit, ofSeconds: (n: number) => string) {
  return (n: number | null | undefined) =>
    n == null ? '–' : unit === 'seconds' ? ofSeconds(n) : `${compact(n)}${unit === 'per second' ? '/s' : ''}`;
}

function optionsOf(
  lines: Line[],
  unit: Unit,
  width: number,
  pointed: (at: number | undefined) => void,
): uPlot.Options {
  const axis = {
    stroke: colourOf('quiet'),
    grid: { stroke: colourOf('grid'), width: 1 },
    ticks: { show: false },
    font: '11px system-ui, sans-serif',
  };
  const short = writer(unit, shortDuration);
  return {
    width,
    height: HEIGHT,
    padding: [8, 20, 0, 0],
    scales: { x: { time: true }, y: { range: (_, __, most) => [0, Math.max(most || 0, 1) * 1.1] } },
    cursor: { y: false, drag: { x: false, y: false } },
    legend: { show: false },
    axes: [
      {
        ...axis,
        size: 22,
        space: 60,
        values: (_, ticks) => ticks.map((at) => hour(at, isShort(ticks) ? 8 : 5)),
      },
      {
        ...axis,
        size: 50,
        space: 24,
        values: (_, ticks) => ticks.map(short),
        ...(unit === 'seconds' ? { incrs: ROUND_SECONDS } : {}),
      },
    ],
    series: [
      {},
      ...lines.map(({ title, colour }) => ({
        label: title,
        stroke: colourOf(colour),
        width: 1.75,
        points: { show: false },
      })),
    ],
    hooks: { setCursor: [({ cursor }) => pointed(cursor.idx ?? undefined)] },
  };
}

/** A time axis with less than this tells seconds. */
const SECONDS_BELOW = 240;

/** A chart over the last minutes, with a time axis. Its legend tells the numbers of now, or of where the mouse is. */
export function Chart(props: { title: string; samples: Sample[]; lines: Line[]; unit: Unit; range: Range }) {
  const { title, samples, lines, unit, range } = props;
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const [pointed, setPointed] = useState<number>();
  const isDark = useScheme();
  const now = samples.at(-1)?.at ?? Date.now() / 1000;
  const write = writer(unit, duration);
  const data = [samples.map(({ at }) => at), ...lines.map(({ of }) => samples.map((sample) => sample[of]))];

  // The lines of a chart never change; its colours do.
  useEffect(() => {
    const to = box.current as HTMLDivElement;
    const width = () => Math.max(to.clientWidth, 100);
    const made = new uPlot(optionsOf(lines, unit, width(), setPointed), data as uPlot.AlignedData, to);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: width(), height: HEIGHT }));
    observer.observe(to);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [isDark]);

  useEffect(() => {
    plot.current?.setData(data as uPlot.AlignedData, false);
    plot.current?.setScale('x', { min: chartStart(samples[0]?.at, range.minutes, now), max: now });
  });

  const last = samples.at(-1);
  const shown = (pointed === undefined ? undefined : samples[pointed]) ?? last;
  const spoken = lines.map((line) => `${line.title} ${write(last?.[line.of])}`).join(', ');
  return (
    <figure class="chart">
      <figcaption>
        {title} {shown && shown !== last && <span>at {hour(shown.at, 8)}</span>}
      </figcaption>
      <div ref={box} role="img" aria-label={`${title}, ${range.spoken}. Now: ${spoken}`} />
      <ul class="legend" aria-hidden="true">
        {lines.map((line) => (
          <li key={line.of} class={line.colour}>
            {line.title} <b>{write(shown?.[line.of])}</b>
          </li>
        ))}
      </ul>
    </figure>
  );
}

const WIDTH = 120;
const TALL = 26;

/** A line in a row of a table. The head of its column has the time axis. */
export function Spark({ samples, lines, title }: { samples: Sample[]; lines: Line[]; title: string }) {
  const now = Date.now() / 1000;
  const seen = samples.filter(({ at }) => at >= now - MINUTES * 60);
  const most = Math.max(1e-9, ...seen.flatMap((sample) => lines.map(({ of }) => sample[of] ?? 0)));
  const x = (at: number) => (WIDTH * (1 - (now - at) / (MINUTES * 60))).toFixed(1);
  const y = (n: number) => (TALL - 2 - ((TALL - 4) * n) / most).toFixed(1);
  const path = (of: Measure) =>
    seen
      .map((sample, i) => {
        const value = sample[of];
        // Behind a gap, the line begins anew.
        if (value === null) return '';
        return `${(seen[i - 1]?.[of] ?? null) === null ? 'M' : 'L'}${x(sample.at)} ${y(value)}`;
      })
      .join('');
  const spoken = lines.map(
    (line) => `${line.title} up to ${compact(Math.max(0, ...seen.map((s) => s[line.of] ?? 0)))}`,
  );
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${WIDTH} ${TALL}`}
      width={WIDTH}
      height={TALL}
      role="img"
      aria-label={`${title}: ${spoken.join(', ')}`}
    >
      <path d={`M0 ${TALL - 1}H${WIDTH}`} class="axis" />
      {lines.map((line) => (
        <path key={line.of} d={path(line.of)} class={line.colour} />
      ))}
    </svg>
  );
}

/** The time axis over a column of sparklines. */
export const SparkAxis = () => (
  <span class="sparkaxis" aria-hidden="true">
    <span>−1 h</span>
    <span>now</span>
  </span>
);

export const DEPTH: Line[] = [
  { of: 'waiting', title: 'waiting', colour: 'c1' },
  { of: 'leased', title: 'leased', colour: 'c2' },
];
export const FLOW: Line[] = [
  { of: 'in', title: 'enqueued', colour: 'c1' },
  { of: 'out', title: 'completed', colour: 'c2' },
  { of: 'failed', title: 'failed', colour: 'c3' },
];
export const OLDEST: Line[] = [{ of: 'oldest', title: 'oldest', colour: 'c4' }];
export const DEAD: Line[] = [{ of: 'dead', title: 'dead', colour: 'c3' }];
