import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../../src/config.ts';
import { Refusal } from '../../../src/errors.ts';

/** Who may send requests besides programs on this machine. */
export interface WebPages {
  /** Names that a `Host` may have, besides those of loopback. */
  hosts: string[];
  /** Origins whose pages may send requests, such as `http://localhost:3000`. */
  origins: string[];
}

const forbidden = (detail: string) => new Refusal('forbidden', detail);

/** The name in a `Host`, without its port. */
const nameIn = (host: string): string =>
  host
    .replace(/:\d*$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();

/**
 * Without keys, whoever reaches Dibs may do everything. A browser on this machine reaches it, too. So no page of another
 * site may act on Dibs: it cannot leave out `Origin` or `Sec-Fetch-Site` (Fetch Metadata Request Headers, W3C). A site
 * whose name leads to this machine (DNS rebinding) cannot leave out its name in `Host`.
 */
export function pageCheck({ hosts, origins }: WebPages) {
  /** Most requests have the same `Host` as the one before. */
  let allowed: string | undefined;

  function checkHost(host: string): void {
    const name = nameIn(host);
    if (!isLoopback(name) && !hosts.includes(name))
      throw forbidden(
        `Without access keys, Dibs answers to loopback names only, not to the host ${JSON.stringify(host)}. ` +
          'ALLOWED_HOSTS adds names.',
      );
    allowed = host;
  }

  return ({ headers, protocol }: Pick<FastifyRequest, 'headers' | 'protocol'>): void => {
    const { host, origin, 'sec-fetch-site': site } = headers;
    if (host !== undefined && host !== allowed) checkHost(host);
    if (origin !== undefined && origins.includes(origin)) return;
    const isOwn = origin === undefined || origin === `${protocol}://${host}`;
    if (isOwn && (site === undefined || site === 'same-origin' || site === 'none')) return;
    throw forbidden(
      'Without access keys, no web page of another site may send requests to Dibs. ALLOWED_ORIGINS adds origins.',
    );
  };
}
