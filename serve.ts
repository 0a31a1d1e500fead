import { existsSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { buildApp, buildProbes } from './routes/app.ts';
import { openPorts, type Undo } from './routes/http/connection/ports.ts';
import { openCertificates } from './routes/http/security/certificates.ts';
import { createAccess } from './src/access/access.ts';
import { putAdminKey } from './src/access/adminKeyFile.ts';
import { createTokens } from './src/access/tokens.ts';
import { keepAskers } from './src/askers.ts';
import { HOME } from './src/config/databases.ts';
import { HTTP_LIMITS } from './src/config/limits.ts';
import { type Config, isLoopback } from './src/config.ts';
import { startErrorOf } from './src/databases/named.ts';
import type { OtherDatabase } from './src/databases/opening.ts';
import { readRegistry } from './src/databases/registry.ts';
import { keepEmbedded } from './src/embedded/keep.ts';
import { startEngine } from './src/engine.ts';
import { isOutage, StartError } from './src/errors.ts';
import { createMemory } from './src/memory.ts';
import { tryConnection } from './src/postgres/connection.ts';
import { isHopeless } from './src/postgres/errorClasses.ts';
import { migrateOrCheck } from './src/postgres/migrate.ts';
import { causeOf, type OutageLog } from './src/postgres/outageLog.ts';
import { openDatabase } from './src/postgres/pool.ts';
import { createServiceLog } from './src/serviceLog.ts';
import { hasSdk, startSdk } from './src/tracing/sdk.ts';

const RETRY_MS = 1000;

/** @throws StartError for an outage that waiting does not mend */
function throwIfHopeless(error: unknown, variable: string): void {
  const { cause } = error as Error;
  if (isHopeless(cause))
    throw new StartError(`The database of ${variable} and Dibs cannot work together: ${causeOf(cause)}.`);
}

/** "migrated: 0001_queues_and_jobs to 0026_queue_numbers (26)" */
const migrated = (names: string[]) =>
  `migrated: ${[...new Set([names[0], names.at(-1)])].join(' to ')} (${names.length})`;

/** How far a start has come. */
interface Progress {
  /** What whoever asks is told. */
  why: string;
  log: OutageLog;
  stop: AbortSignal;
}

/** Works as soon as the database answers. @throws StartError when waiting does not help */
async function whenThere<T>(work: () => Promise<T>, progress: Progress): Promise<T> {
  const { log, stop } = progress;
  for (;;) {
    try {
      const done = await work();
      log.served();
      return done;
    } catch (error) {
      if (!isOutage(error)) throw error;
      throwIfHopeless(error, 'DATABASE_URL');
      const { cause } = error as Error;
      log.failed(cause);
      // The message may name hosts, and anybody may ask.
      const code = (cause as { code?: string } | undefined)?.code;
      progress.why = `Dibs is starting, and its database does not serve yet${code ? ` (${code})` : ''}. The log says more.`;
      await sleep(RETRY_MS, undefined, { signal: stop });
    }
  }
}

/** @throws StartError for an address that others reach, where nobody would need a key */
function checkReach({ host, auth, tokens }: Config, hasKeys: boolean): void {
  if (auth !== undefined || tokens !== undefined || hasKeys || isLoopback(host)) return;
  throw new StartError(
    `HOST=${host} would let in everybody who can reach it, because there is no access key yet. Make the first one with ` +
      '"dibs keys create admin --scope admin", or name a file with one in ADMIN_KEY_FILE. Or use HOST=127.0.0.1, or set ' +
      'AUTH=off if your network keeps strangers out.',
  );
}

/** The address of the embedded PostgreSQL, which runs from now on. */
async function openEmbedded({ dataDir }: Config, logger: Logger, undo: Undo): Promise<string> {
  const begin = existsSync(dataDir) ? 'starting' : 'creating';
  logger.info(`${begin} the embedded PostgreSQL, with its data under ${resolve(dataDir)}`);
  const embedded = await keepEmbedded({
    dataDir,
    log: (line) => logger.debug(line),
    ended: (why) => logger.warn(why, 'the embedded PostgreSQL ended, starting it again'),
  });
  undo.push(embedded.stop);
  return embedded.url;
}

/** The databases beside home. */
function openOthers(
  { otherDatabases, poolSize }: Config,
  log: ReturnType<typeof createServiceLog>,
  undo: Undo,
): OtherDatabase[] {
  return otherDatabases.map(({ name, url, listenUrl = url }) => {
    const db = openDatabase(url, poolSize, log.outagesOf(name), log.slow);
    undo.push(db.close);
    return { name, db, listenUrl, migrate: () => migrateOrCheck(url).catch(startErrorOf(name)) };
  });
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** Its code is loaded where there is such a file only. @throws StartError */
async function openFile({ queuesFile, otherDatabases }: Config, logger: Logger, stop: AbortSignal) {
  if (queuesFile === undefined) return undefined;
  const { openQueuesFile } = await import('./queuesFile/atStart.ts');
  const log = {
    info: (line: string) => logger.info(line),
    warn: (line: string) => logger.warn(line),
    error: (line: string) => logger.error(line),
  };
  const databases = [HOME, ...otherDatabases.map(({ name }) => name)];
  return openQueuesFile(queuesFile, { databases, log, stop });
}

/** What a start has come to, beside what the configuration says. */
export interface Ready {
  port: number;
  needsKey: boolean;
}

/**
 * Runs the service until `stop` is aborted. Then it serves on for `drainSeconds`, so that a proxy has time to notice that
 * it is not ready any more. After that it accepts no new connections, answers the waiting claims with the jobs they have,
 * finishes the running requests and closes. When a step fails, everything already started is stopped.
 * `told` hears when it serves.
 */
export async function serve(
  config: Config,
  logger: Logger,
  stop: AbortSignal,
  told?: (ready: Ready) => void,
): Promise<void> {
  const certificates = config.tls && (await openCertificates(config.tls));
  const queuesFile = await openFile(config, logger, stop);
  const undo: Undo = [];
  try {
    const log = createServiceLog(logger, { slowMs: config.slowRoundTripMs });
    if (config.traces && !hasSdk()) undo.push(await startSdk(log.warn));
    const traces = hasSdk();
    if (traces || log.call) keepAskers();
    const tokens = config.tokens && createTokens(config.tokens, log.refusedToken);
    await tokens?.checkFiles();
    const { outages } = log;
    const progress: Progress = { why: 'Dibs is starting.', log: outages, stop };
    const limits = { ...HTTP_LIMITS, ...config.limits };
    const started = new AbortController();
    const ports = await openPorts(config, { logger, why: () => progress.why, limits, certificates, undo });
    const url = config.databaseUrl ?? (await openEmbedded(config, logger, undo));
    const migrations = await whenThere(() => migrateOrCheck(url), progress);
    if (migrations.length > 0) logger.info(migrated(migrations));

    const { listenUrl = url } = config;
    if (listenUrl !== url)
      await tryConnection(listenUrl).catch((error) => throwIfHopeless(error, 'DATABASE_LISTEN_URL'));

    const db = openDatabase(url, config.poolSize, outages, log.slow);
    undo.push(db.close);
    const names = config.otherDatabases.map(({ name }) => name);
    const registry = await whenThere(() => readRegistry(db, names), progress);
    const engine = await startEngine({
      db,
      others: names.length > 0 ? { registry, list: openOthers(config, log, undo) } : undefined,
      memory: createMemory(config.maxMemoryBytes),
      metricsQueues: config.metricsQueues,
      newQueuesPerSecond: config.rates.newQueuesPerSecond,
      rescueGraceSeconds: config.rescueGraceSeconds,
      reachable: new Promise((resolve) => started.signal.addEventListener('abort', resolve)),
      logNews: (line) => logger.info(line),
      listenUrl,
      listenState: log.listenState,
      log: log.failed,
      traces,
      logCall: log.call,
      logAct: log.act,
    });
    undo.push(engine.stop);
    const { adminKeyFile } = config;
    if (adminKeyFile !== undefined)
      await whenThere(() => putAdminKey(adminKeyFile, db, (line) => logger.warn(line)), progress);
    // Before the keys are known, nobody can say who needs one.
    await whenThere(engine.keys.refresh, progress);
    checkReach(config, engine.keys.exist());
    if (queuesFile) await whenThere(() => queuesFile.applyTo(engine), progress);
    const access = createAccess({ auth: config.auth, keys: engine.keys, tokens, refused: log.refused });
    const draining = new AbortController();
    const { maxPayloadBytes, webPages, allowedOrigins, trustProxy, rates, accessLog, traceUrl } = config;
    const shared = { engine, logger, limits, maxPayloadBytes, draining: draining.signal };
    const app = await buildApp({
      ...{ ...shared, access, certificates },
      ...{ webPages, allowedOrigins, trustProxy, rates, accessLog, traceUrl },
    });
    undo.push(() => {
      engine.stopWaiting();
      return app.close();
    });
    if (stop.aborted) return;
    if (ports.probes) {
      const probes = await buildProbes(app, shared);
      undo.push(() => probes.close());
      await ports.probes(probes);
    }
    await ports.service(app);
    started.abort();
    told?.({ port: (app.server.address() as AddressInfo).port, needsKey: !access.isOpen() });
    await untilAborted(stop);
    if (config.drainSeconds > 0) {
      logger.info(`draining for ${config.drainSeconds} s`);
      draining.abort();
      await sleep(config.drainSeconds * 1000);
    }
    logger.info('stopping');
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    for (const step of undo.reverse())
      await step().catch((error) => logger.error(error, 'a shutdown step failed'));
  }
}
