import type { Progress } from '../src/transfer/exportTo.ts';
import { count, counted } from './counted.ts';

const WIDTH = 30;
/** A terminal shows the progress this often, a log has a line this often. */
const DRAWN_MS = 100;
const LINE_MS = 5000;

interface Screen {
  isTTY?: boolean;
  write(text: string): unknown;
}

function lasting(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`;
  if (seconds < 6000) return `${Math.ceil(seconds / 60)} min`;
  return `${(seconds / 3600).toFixed(1)} h`;
}

/** "45 % (90,000 of 200,000 jobs), 12,345 a second, 9 s to go" */
export function progressText(done: number, all: number, ms: number): string {
  const share = all === 0 ? 1 : Math.min(1, done / all);
  const perSecond = ms > 0 ? (1000 * done) / ms : 0;
  const left = perSecond > 0 && done < all ? `, ${lasting((all - done) / perSecond)} to go` : '';
  return `${Math.floor(share * 100)} % (${count(done)} of ${counted(all)}), ${count(Math.round(perSecond))} a second${left}`;
}

function bar(done: number, all: number): string {
  const filled = Math.round(WIDTH * (all === 0 ? 1 : Math.min(1, done / all)));
  return `[${'#'.repeat(filled)}${'.'.repeat(WIDTH - filled)}]`;
}

/** Shows how far a long work has come: on a terminal as a bar, elsewhere as a line now and then. */
export function showProgress(
  what: string,
  screen: Screen = process.stderr,
  now: () => number = () => performance.now(),
): { progress: Progress; end(): void } {
  const started = now();
  let shown = started;
  let last: [number, number] | undefined;
  const draw = ([done, all]: [number, number]) => {
    const text = `${what} ${progressText(done, all, now() - started)}`;
    screen.write(screen.isTTY ? `\r\x1b[K${bar(done, all)} ${text}` : `${text}\n`);
  };
  return {
    progress(done, all) {
      last = [done, all];
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
