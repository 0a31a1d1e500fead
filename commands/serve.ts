import { pino } from 'pino';
import { type Ready, serve } from '../serve.ts';
import type { Config } from '../src/config.ts';
import { createLogger } from '../src/logger.ts';
import { banner } from './banner.ts';
import { textLog } from './logText.ts';
import { ownTerminal, paintFor } from './remote/terminal.ts';

/** The shutdown may take this long after SIGTERM and DRAIN_SECONDS. Then the process ends anyway. */
const GRACE_MS = 9000;

/** `dibs serve` */
export async function serveCommand(config: Config, env: NodeJS.ProcessEnv): Promise<void> {
  const terminal = ownTerminal(env);
  const format = config.logFormat ?? (terminal.stdout.isTTY ? 'text' : 'json');
  const out = pino.destination({ dest: 1, sync: true });
  const paint = paintFor(terminal);
  const logger = createLogger(config.logLevel, format === 'text' ? textLog(out, paint) : out);
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
  const isTold = format === 'text' && logger.isLevelEnabled('info');
  const told = (ready: Ready) => void out.write(banner(config, ready, paint).text);
  await serve(config, logger, stop.signal, isTold ? told : undefined);
}
