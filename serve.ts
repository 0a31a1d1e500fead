import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildApp } from './routes/app.ts';
import type { Config } from './src/config.ts';
import { keepEmbedded } from './src/embedded/keep.ts';
import { startEngine } from './src/engine.ts';
import { isOutage } from './src/errors.ts';
import { migrate } from './src/postgres/migrate.ts';
import { openDatabase } from './src/postgres/pool.ts';

const RETRY_MS = 1000;

/** Migrates as soon as the database answers. */
async function migrateWhenThere(url: string, logger: Logger, stop: AbortSignal): Promise<void> {
  for (;;) {
    try {
      for (const name of await migrate(url)) logger.info(`migrated: ${name}`);
      return;
    } catch (error) {
      if (!isOutage(error)) throw error;
      logger.warn('the database does not answer yet, trying again in a second');
      await sleep(RETRY_MS, undefined, { signal: stop });
    }
  }
}

/**
 * Runs the service until `stop` is aborted. Then it accepts no new connections, answers the waiting claims with the
 * jobs they have, finishes the running requests and closes. When a step fails, everything already started is stopped.
 */
export async function serve(config: Config, logger: Logger, stop: AbortSignal): Promise<void> {
  const undo: (() => Promise<unknown>)[] = [];
  try {
    let url = config.databaseUrl;
    if (url === undefined) {
      const embedded = await keepEmbedded({
        dataDir: config.dataDir,
        log: (line) => logger.debug(line),
        ended: (why) => logger.error(why, 'the embedded PostgreSQL ended, starting it again'),
      });
      undo.push(embedded.stop);
      url = embedded.url;
      logger.info(`the embedded PostgreSQL has its data under ${config.dataDir}`);
    }
    await migrateWhenThere(url, logger, stop);

    const log = (error: unknown, message: string) =>
      isOutage(error)
        ? logger.warn(`${message}: the database does not answer`)
        : logger.error(error, message);
    const db = openDatabase(url, config.poolSize, (error) =>
      logger.warn(`a connection to the database broke: ${error.message}`),
    );
    undo.push(db.close);
    const engine = await startEngine({
      db,
      listenUrl: config.listenUrl ?? url,
      log,
      logCall: logger.isLevelEnabled('debug')
        ? (fields, message) => logger.debug(fields, message)
        : undefined,
    });
    undo.push(engine.stop);
    const app = await buildApp({ engine, logger, maxPayloadBytes: config.maxPayloadBytes });
    undo.push(() => {
      engine.stopWaiting();
      return app.close();
    });
    if (stop.aborted) return;
    await app.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: (at) => `Dibs is ready at ${at}`,
    });
    await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
    logger.info('stopping');
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    for (const step of undo.reverse())
      await step().catch((error) => logger.error(error, 'a shutdown step failed'));
  }
}
