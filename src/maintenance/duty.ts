/** The pause after a failure, so that an outage does not fill the log. */
const PAUSE_MS = 1000;

/**
 * Runs a background task at once, and again `everyMs` after it has ended. It runs again sooner when it returns a smaller
 * number of milliseconds, and at once when it returns true: there is more to do.
 */
export function startDuty(options: {
  everyMs: number;
  run(): Promise<boolean | number>;
  failed(error: unknown): void;
}): {
  /** Settles when it has run for the first time. */
  begun: Promise<void>;
  /** Runs it now, or again when it is running. */
  runNow(): void;
  stop(): Promise<void>;
} {
  let stopped = false;
  let isAsked = false;
  let timer: NodeJS.Timeout | undefined;
  let wake: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });

  async function loop(): Promise<void> {
    while (!stopped) {
      let more = false;
      let pause = options.everyMs;
      isAsked = false;
      try {
        const answer = await options.run();
        more = answer === true;
        if (typeof answer === 'number') pause = Math.max(0, Math.min(pause, answer));
      } catch (error) {
        options.failed(error);
        pause = Math.max(pause, PAUSE_MS);
      }
      begin();
      if (more || stopped || isAsked) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, pause);
      });
    }
  }
  const running = loop();

  return {
    begun,
    runNow() {
      isAsked = true;
      clearTimeout(timer);
      wake();
    },
    stop() {
      stopped = true;
      clearTimeout(timer);
      wake();
      return running;
    },
  };
}
