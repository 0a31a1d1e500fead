import { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { App } from './fastify.ts';

/** One line in this time, however many clients cause it. */
const AGAIN_MS = 10_000;

/** Logs a line at once, and then how often it came at most every 10 s. */
function rarely(log: (times: number) => void) {
  let times = 0;
  let isQuiet = false;
  function say(): void {
    log(times);
    times = 0;
    isQuiet = true;
    setTimeout(() => {
      isQuiet = false;
      if (times > 0) say();
    }, AGAIN_MS).unref();
  }
  return () => {
    times++;
    if (!isQuiet) say();
  };
}

/** Calls `opened` with the socket of each connection as requests have it: under TLS, after the handshake. */
export function onConnection(app: App, opened: (socket: Socket) => void): void {
  app.server.on(app.server instanceof TlsServer ? 'secureConnection' : 'connection', opened);
}

/** Closes new connections at once while there are this many. */
export function limitConnections(app: App, maxConnections: number): void {
  const logger = app.log;
  app.server.maxConnections = maxConnections;
  app.server.on(
    'drop',
    rarely((times) =>
      logger.warn({ times }, `closed new connections: there are ${maxConnections} (MAX_CONNECTIONS) already`),
    ),
  );
}

/**
 * A client certificate that is expired, or of another authority, counts as none: the client may have a key besides. The log
 * says why, or nobody would find out.
 */
export function logRefusedCertificates(app: App): void {
  let reason = '';
  const log = rarely((times) =>
    app.log.warn({ times }, `client certificates count as none, the last one because of ${reason}`),
  );
  app.server.on('secureConnection', (socket: TLSSocket) => {
    // Without a certificate, Node sets the error of a missing issuer.
    if (!socket.authorizationError || !socket.getPeerX509Certificate()) return;
    reason = `${socket.authorizationError}`;
    log();
  });
}
