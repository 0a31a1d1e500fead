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
      try {
        more = await options.run();
      } catch (error) {
        options.failed(error);
      }
      if (more || stopped) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
        timer = setTimeout(resolve, options.everyMs);
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
