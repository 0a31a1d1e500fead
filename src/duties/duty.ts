/** After a failure, so that an outage doesn't fill the log. */
const PAUSE_MS = 1000;

/** A background task: runs at once, then again `everyMs` after it ended, or at once while it says that there is more. */
export function startDuty(options: {
  everyMs: number;
  run(): Promise<boolean>;
  failed(error: unknown): void;
}): { stop(): Promise<void> } {
  let stopped = false;
  let timer: NodeJS.Timeout | undefined;
  let wake: () => void = () => undefined;

  async function loop(): Promise<void> {
    while (!stopped) {
      let more = false;
      let pause = options.everyMs;
      try {
        more = await options.run();
      } catch (error) {
        options.failed(error);
        pause = Math.max(pause, PAUSE_MS);
      }
      if (more || stopped) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, pause);
      });
    }
  }
  const running = loop();

  return {
    stop() {
      stopped = true;
      clearTimeout(timer);
      wake();
      return running;
    },
  };
}
