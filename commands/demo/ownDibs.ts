import { type Ready, serve } from '../../serve.ts';
import { readConfig } from '../../src/config.ts';
import { createLogger } from '../../src/logger.ts';
import { addressOf } from '../banner.ts';
import { textLog } from '../logText.ts';
import type { Paint, Terminal } from '../remote/terminal.ts';

/** A Dibs in this process, as the environment configures it. @throws ConfigError, StartError, EmbeddedError */
export async function startOwnDibs(
  { env, stderr }: Terminal,
  paint: Paint,
): Promise<{ url: string; stop(): Promise<void> }> {
  const config = readConfig(env);
  const stop = new AbortController();
  const logger = createLogger(config.logLevel, textLog(stderr, paint));
  let served: Promise<void> | undefined;
  const { port } = await new Promise<Ready>((resolve, reject) => {
    served = serve(config, logger, stop.signal, resolve);
    served.catch(reject);
  });
  // What the demo does is no news.
  if (logger.level === 'info') logger.level = 'warn';
  return {
    url: addressOf(config, port),
    async stop() {
      stop.abort();
      await served;
    },
  };
}
