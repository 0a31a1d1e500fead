import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 10;
const PART_MS = 5000;
/** The lag is told over this number of parts: half a minute. */
const PARTS = 6;

/** The longest that the event loop of this process was held up lately. It begins to measure when it is first asked. */
export function createLoopLag() {
  const parts: number[] = [];
  let histogram: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const now = () => Math.max(0, (histogram?.max ?? 0) / 1e6 - RESOLUTION_MS);

  function start(): void {
    histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
    histogram.enable();
    timer = setInterval(() => {
      parts.push(now());
      if (parts.length > PARTS) parts.shift();
      histogram?.reset();
    }, PART_MS);
    timer.unref();
  }

  return {
    /** In seconds. */
    longest(): number {
      if (!histogram) start();
      return Math.max(now(), ...parts) / 1000;
    },
    stop(): void {
      clearInterval(timer);
      histogram?.disable();
    },
  };
}
