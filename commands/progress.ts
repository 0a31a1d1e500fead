import { count, counted } from './counted.ts';
import { fitting } from './remote/table.ts';

const WIDTH = 30;
/** A terminal shows the progress this often, a log has a line this often. */
const DRAWN_MS = 100;
const LINE_MS = 5000;

interface Screen {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

function lasting(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  if (seconds < 6000) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

const UNITS: [unit: string, seconds: number][] = [
  ['a second', 1],
  ['a minute', 60],
  ['an hour', 3600],
];

/** "12,345 a second", "6 a minute" */
function pace(perSecond: number): string {
  const [unit, seconds] = UNITS.find(([, seconds]) => perSecond * seconds >= 1) ?? ['a second', 1];
  return `${count(Math.round(perSecond * seconds))} ${unit}`;
}

/** "45 % (90,000 of 200,000 jobs), 12,345 a second, 9 s to go". `before` were done before this time. */
export function progressText(done: number, all: number, ms: number, before = 0): string {
  const share = all === 0 ? 1 : Math.min(1, done / all);
  const perSecond = ms > 0 ? Math.max(0, (1000 * (done - before)) / ms) : 0;
  const left = perSecond > 0 && done < all ? `, ${lasting((all - done) / perSecond)} to go` : '';
  return `${Math.floor(share * 100)} % (${count(done)} of ${counted(all)}), ${pace(perSecond)}${left}`;
}

function bar(done: number, all: number): string {
  const filled = Math.round(WIDTH * (all === 0 ? 1 : Math.min(1, done / all)));
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`;
}

/** Shows how far a long work has come: on a terminal as a bar, elsewhere as a line now and then. `before`: as of progressText. */
export function showProgress(
  what: string,
  screen: Screen = process.stderr,
  now: () => number = () => performance.now(),
  before = 0,
): { progress(done: number, all: number, more?: string): void; end(): void } {
  const started = now();
  let shown = started;
  let last: [number, number, string] | undefined;
  const draw = ([done, all, more]: [number, number, string]) => {
    const text = `${what} ${progressText(done, all, now() - started, before)}${more}`;
    screen.write(screen.isTTY ? `\r\x1b[K${fitting(`${bar(done, all)} ${text}`, screen)}` : `${text}\n`);
  };
  return {
    progress(done, all, more = '') {
      last = [done, all, more];
      if (now() - shown < (screen.isTTY ? DRAWN_MS : LINE_MS)) return;
      shown = now();
      draw(last);
    },
    end() {
      if (screen.isTTY && last) {
        draw(last);
        screen.write('\n');
      }
    },
  };
}
