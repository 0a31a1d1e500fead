import { serve } from '../serve.ts';
import type { Config } from '../src/config.ts';
import { createLogger } from '../src/logger.ts';

/** The shutdown may take this long after SIGTERM and DRAIN_SECONDS. Then the process ends anyway. */
const GRACE_MS = 9000;

/** `dibs serve` */
export async function serveCommand(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel);
  const stop = new AbortController();
  const graceMs = GRACE_MS + config.drainSeconds * 1000;
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop.abort();
      setTimeout(() => {
        logger.warn(`the shutdown took longer than ${graceMs / 1000} s after ${signal}, ending anyway`);
        process.exit(0);
      }, graceMs).unref();
    });
  }
  await serve(config, logger, stop.signal);
}
