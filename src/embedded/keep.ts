import { setTimeout as sleep } from 'node:timers/promises';
import { type EmbeddedOptions, startEmbedded } from './index.ts';

const RETRY_MS = 1000;

/**
 * Starts the embedded PostgreSQL, and starts it again whenever it ends by itself. Its `url` stays the same. `ended` is
 * called each time.
 * @throws EmbeddedError when the first start fails
 */
export async function keepEmbedded(
  options: EmbeddedOptions & { ended: (why?: unknown) => void },
): Promise<{ url: string; stop(): Promise<void> }> {
  let server = await startEmbedded(options);
  const port = Number(new URL(server.url).port);
  const { localUrl: url } = server;
  let wanted = true;

  async function keep(): Promise<void> {
    for (let pause = 0; ; pause = RETRY_MS) {
      await sleep(pause);
      await server.exited;
      if (!wanted) return;
      options.ended();
      try {
        server = await startEmbedded({ ...options, port });
        if (!wanted) await server.stop();
      } catch (error) {
        options.ended(error);
      }
    }
  }
  const kept = keep();

  return {
    url,
    async stop() {
      wanted = false;
      await server.stop();
      await kept;
    },
  };
}
