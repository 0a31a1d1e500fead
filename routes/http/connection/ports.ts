import type { Logger } from 'pino';
import type { HttpLimits } from '../../../src/config/limits.ts';
import type { Reach } from '../../../src/config/reach.ts';
import { StartError } from '../../../src/errors.ts';
import { version } from '../../../src/version.ts';
import type { Certificates } from '../security/certificates.ts';
import type { App } from './fastify.ts';
import { startingApp } from './starting.ts';

/** Where to listen. `variable` says the port. */
interface Place {
  host: string;
  port: number;
  variable: 'PORT' | 'METRICS_PORT';
}

/**
 * Listens. `from`: takes over what that one listens to, so that no connection is refused in between.
 * @throws StartError when the address is not to be had
 */
async function listen(app: App, place: Place, state: string, from?: App): Promise<void> {
  const { host, port, variable } = place;
  const listenTextResolver = (at: string) => `Dibs ${version} ${state} at ${at}`;
  // For `localhost`, Fastify would open a second server, without the limits and certificates of this one.
  const address = host === 'localhost' ? '127.0.0.1' : host;
  const { _handle: handle } = (from?.server ?? {}) as { _handle?: object };
  const options = { host: address, port, listenTextResolver, ...(handle ? { handle } : {}) };
  await app.listen(options).catch((error) => {
    if (!/^(EADDRINUSE|EADDRNOTAVAIL|EACCES|ENOTFOUND)$/.test(error.code)) throw error;
    throw new StartError(`Dibs cannot listen on HOST=${host} ${variable}=${port}: ${error.message}.`);
  });
}

/** Closes what was opened. The last one goes first. */
export type Undo = (() => Promise<unknown>)[];

/** Answers that Dibs is starting, until the app with which it is called takes over. */
async function open(place: Place, starting: App, [before, after]: [string, string], undo: Undo) {
  let isStarting = true;
  // Afterwards the other app closes what both listen to.
  undo.push(async () => (isStarting ? starting.close() : undefined));
  await listen(starting, place, before);
  return async (app: App): Promise<void> => {
    await listen(app, place, after, starting);
    isStarting = false;
  };
}

/**
 * Listens from the start on: on the port of the API, and on that of metrics and probes, if there is one. `why`: what whoever asks is told
 * meanwhile. Returns how an app takes over each port.
 * @throws StartError when an address is not to be had
 */
export async function openPorts(
  { host, port, metricsPort }: Pick<Reach, 'host' | 'port' | 'metricsPort'>,
  context: {
    logger: Logger;
    why: () => string;
    limits: HttpLimits;
    certificates: Certificates | undefined;
    undo: Undo;
  },
) {
  const { logger, why, limits, certificates, undo } = context;
  const starting = (certificates?: Certificates) => startingApp(logger, why, { limits, certificates });
  const service = await open(
    { host, port, variable: 'PORT' },
    starting(certificates),
    ['is starting', 'is ready'],
    undo,
  );
  if (metricsPort === 0) return { service };
  const place = { host, port: metricsPort, variable: 'METRICS_PORT' } as const;
  const words: [string, string] = ['will tell its metrics', 'tells its metrics'];
  return { service, probes: await open(place, starting(), words, undo) };
}
