import { Server as TlsServer } from 'node:tls';
import type { FastifyHelmetOptions } from '@fastify/helmet';
import type { App } from '../connection/fastify.ts';
import { NO_SNIFF } from './noSniff.ts';

const HSTS_SECONDS = 365 * 86_400;

export const isOverTls = (app: App) => app.server instanceof TlsServer;

/**
 * The headers of every answer, page or not. Helmet's others protect pages: on JSON they would only cost time.
 * HSTS: a browser that once came by HTTPS never comes by HTTP again.
 */
export function setSafeHeaders(app: App): void {
  const isTls = isOverTls(app);
  app.addHook('onRequest', (_, reply, done) => {
    reply.header(...NO_SNIFF);
    if (isTls) reply.header('strict-transport-security', `max-age=${HSTS_SECONDS}`);
    done();
  });
}

/** The headers of pages. The policy allows scripts and styles from files of Dibs only: none inline, and none of others. */
export const pageHeaders = (isTls: boolean): FastifyHelmetOptions => ({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      imgSrc: ["'self'", 'data:'],
      connectSrc: ["'self'"],
      baseUri: ["'none'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
    },
  },
  frameguard: { action: 'deny' },
  referrerPolicy: { policy: 'no-referrer' },
  strictTransportSecurity: isTls && { maxAge: HSTS_SECONDS, includeSubDomains: false },
});
