import { serve } from '../serve.ts';
import type { Config } from '../src/config.ts';
import { createLogger } from '../src/logger.ts';

/** The shutdown may take this long after SIGTERM. Then the process ends anyway. */
const GRACE_MS = 9000;

/** `dibs serve` */
export async function serveCommand(config: Config): Promise<void> {
  const logger = createLogger(config.logLevel);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      stop.abort();
      setTimeout(() => {
        logger.warn(`the shutdown took longer than ${GRACE_MS / 1000} s after ${signal}, ending anyway`);
        process.exit(0);
      }, GRACE_MS).unref();
    });
  }
  await serve(config, logger, stop.signal);
}
