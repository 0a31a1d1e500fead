import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildApp } from './routes/app.ts';
import type { Config } from './src/config.ts';
import { keepEmbedded } from './src/embedded/keep.ts';
import { startEngine } from './src/engine.ts';
import { isOutage, StartError } from './src/errors.ts';
import { createMemory } from './src/memory.ts';
import { isHopeless } from './src/postgres/errorClasses.ts';
import { migrate } from './src/postgres/migrate.ts';
import { causeOf, createOutageLog, type OutageLog } from './src/postgres/outageLog.ts';
import { openDatabase } from './src/postgres/pool.ts';
import { version } from './src/version.ts';

const RETRY_MS = 1000;

/** Migrates as soon as the database answers. @throws StartError when waiting does not help */
async function migrateWhenThere(
  url: string,
  log: OutageLog,
  logger: Logger,
  stop: AbortSignal,
): Promise<void> {
  for (;;) {
    try {
      for (const name of await migrate(url)) logger.info(`migrated: ${name}`);
      log.served();
      return;
    } catch (error) {
      if (!isOutage(error)) throw error;
      const { cause } = error as Error;
      if (isHopeless(cause))
        throw new StartError(`The database refuses to work for Dibs: ${causeOf(cause)}.`);
      log.failed(cause);
      await sleep(RETRY_MS, undefined, { signal: stop });
    }
  }
}

/** Listens. @throws StartError when the address is not to be had */
async function listen(app: Awaited<ReturnType<typeof buildApp>>, { host, port }: Config): Promise<void> {
  const listenTextResolver = (at: string) => `Dibs ${version} is ready at ${at}`;
  await app.listen({ host, port, listenTextResolver }).catch((error) => {
    if (!/^(EADDRINUSE|EADDRNOTAVAIL|EACCES|ENOTFOUND)$/.test(error.code)) throw error;
    throw new StartError(`Dibs cannot listen on HOST=${host} PORT=${port}: ${error.message}.`);
  });
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
    const outages = createOutageLog({
      warn: (line) => logger.warn(line),
      info: (line) => logger.info(line),
    });
    await migrateWhenThere(url, outages, logger, stop);

    // The log of outages says why, once. What fails by an outage is noted only for those who look closely.
    const log = (error: unknown, message: string) =>
      isOutage(error) ? logger.debug(message) : logger.error(error, message);
    const db = openDatabase(url, config.poolSize, outages);
    undo.push(db.close);
    const engine = await startEngine({
      db,
      memory: createMemory(config.maxMemoryBytes),
      metricsQueues: config.metricsQueues,
      listenUrl: config.listenUrl ?? url,
      log,
      logCall: logger.isLevelEnabled('debug')
        ? (fields, message) => logger.debug(fields, message)
        : undefined,
    });
    undo.push(engine.stop);
    const { maxPayloadBytes, webPages, accessLog } = config;
    const app = await buildApp({ engine, logger, maxPayloadBytes, webPages, accessLog });
    undo.push(() => {
      engine.stopWaiting();
      return app.close();
    });
    if (stop.aborted) return;
    await listen(app, config);
    if (!stop.aborted)
      await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
    logger.info('stopping');
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    for (const step of undo.reverse())
      await step().catch((error) => logger.error(error, 'a shutdown step failed'));
  }
}
