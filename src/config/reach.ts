import { isIP } from 'node:net';
import type { Variables } from './variables.ts';

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|::1)$/;
const HOST_NAME = /^[a-z0-9._:-]+$/;

/** Whether a name or address leads to this machine, whoever resolves it. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** Where Dibs listens, and who may send requests. */
export interface Reach {
  host: string;
  /** 0 picks a free port. */
  port: number;
  /** For metrics and probes, without keys. 0: there is none. */
  metricsPort: number;
  /** Whether requests need an access key. Undefined: as soon as there is one. */
  auth: 'keys' | 'off' | undefined;
  /** A file with an access key that may do everything. */
  adminKeyFile: string | undefined;
  /** Who may send requests where nobody needs a key. */
  webPages: {
    /** Names that a `Host` may have, besides those of loopback. Undefined: any. */
    hosts: string[] | undefined;
    /** Origins whose pages may send requests, such as `http://localhost:3000`. */
    origins: string[];
    /** A `Host` may be any IP address, too. */
    addresses: boolean;
  };
  /** The origins whose pages may read answers. `*`: all; where nobody needs a key, pages of other sites are refused all the same. */
  allowedOrigins: string[];
  /** The proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` count: addresses, CIDRs, `loopback`. */
  trustProxy: string[];
}

/** Everybody (`0.0.0.0/0`) is no proxy: whoever sends a header would choose the address that limits and audits see. */
function isProxy(item: string): boolean {
  const [address = '', bits, ...rest] = item.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return item === 'loopback';
  return bits === undefined || (/^[1-9]\d*$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

export function readReach({ text, integer, choice, list, problems }: Variables): Reach {
  const auth = (choice('AUTH') || undefined) as Reach['auth'];
  const hosts = list('ALLOWED_HOSTS', (item) => HOST_NAME.test(item));
  const origins = list(
    'ALLOWED_ORIGINS',
    (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
  );
  const host = text('HOST');
  // With AUTH=off on a network, nobody but ALLOWED_HOSTS says which names lead here.
  const isAnyHost = auth === 'off' && hosts.length === 0 && !isLoopback(host);
  const port = integer('PORT');
  const metricsPort = integer('METRICS_PORT');
  if (metricsPort > 0 && metricsPort === port) problems.push('METRICS_PORT must be another port than PORT');
  return {
    host,
    port,
    metricsPort,
    auth,
    adminKeyFile: text('ADMIN_KEY_FILE'),
    webPages: { hosts: isAnyHost ? undefined : hosts, origins, addresses: auth === 'off' },
    allowedOrigins: origins,
    trustProxy: list('TRUST_PROXY', isProxy),
  };
}
