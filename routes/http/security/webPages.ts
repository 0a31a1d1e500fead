import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../../src/config.ts';
import { Refusal } from '../../../src/errors.ts';

/** Who may send requests where nobody needs a key, besides programs on this machine. */
export interface WebPages {
  /** Names that a `Host` may have, besides those of loopback. Undefined: any. */
  hosts: string[] | undefined;
  /** Origins whose pages may send requests, such as `http://localhost:3000`. */
  origins: string[];
  /** A `Host` may be any IP address, too. Probes call by address, and no name of a site leads here under one. */
  addresses?: boolean;
}

const forbidden = (detail: string) => new Refusal('forbidden', detail);

/** The name in a `Host`, without its port, and without the dot at the end that an absolute name may have. */
const nameIn = (host: string): string =>
  host
    .replace(/\.?(:\d*)?$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();

/**
 * Without keys, whoever reaches Dibs may do everything. A browser on this machine or network reaches it, too. So no page of
 * another site may act on Dibs: it cannot leave out `Origin` or `Sec-Fetch-Site` (Fetch Metadata Request Headers, W3C). A
 * site whose name leads here (DNS rebinding) cannot leave out its name in `Host`.
 */
export function pageCheck({ hosts, origins, addresses = false }: WebPages) {
  /** Most requests have the same `Host` as the one before. */
  let allowed: string | undefined;

  function checkHost(host: string): void {
    const name = nameIn(host);
    const isOurs =
      isLoopback(name) || hosts === undefined || hosts.includes(name) || (addresses && isIP(name) !== 0);
    if (!isOurs)
      throw forbidden(
        `Without access keys, Dibs answers to loopback names and those in ALLOWED_HOSTS only, not to the host ${JSON.stringify(host)}.`,
      );
    allowed = host;
  }

  return ({ headers, protocol }: Pick<FastifyRequest, 'headers' | 'protocol'>): void => {
    const { host, origin, 'sec-fetch-site': site } = headers;
    if (host !== undefined && host !== allowed) checkHost(host);
    if (origin !== undefined && origins.includes(origin)) return;
    if (site === 'same-origin' || site === 'none') return;
    if (site === undefined && (origin === undefined || origin === `${protocol}://${host}`)) return;
    throw forbidden(
      'Without access keys, no web page of another site may send requests to Dibs. ALLOWED_ORIGINS adds origins.',
    );
  };
}
