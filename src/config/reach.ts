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
  /** Who may send requests besides programs on this machine. Undefined with AUTH=off: everybody. */
  webPages: { hosts: string[]; origins: string[] } | undefined;
  /** The origins whose pages may read answers. `*`: all; without access keys, pages of other sites are refused all the same. */
  allowedOrigins: string[];
}

/** HOST is checked only for a process that listens. */
export function readReach(
  { text, integer, oneOf, list, problems }: Variables,
  { listens }: { listens: boolean },
): Reach {
  const host = text('HOST') ?? '127.0.0.1';
  const auth = oneOf('AUTH', 'on', ['on', 'off']);
  if (listens && auth !== 'off' && text('JWT_ISSUER') === undefined && !isLoopback(host))
    problems.push(
      `HOST=${host} lets in everybody who can reach it, because there are no access keys yet; ` +
        'use 127.0.0.1, or set AUTH=off if your network keeps strangers out',
    );
  const hosts = list('ALLOWED_HOSTS', (item) => HOST_NAME.test(item), 'names of hosts without ports');
  const origins = list(
    'ALLOWED_ORIGINS',
    (item) => item === '*' || (URL.canParse(item) && new URL(item).origin === item),
    'origins like http://localhost:3000, or * for all',
  );
  return {
    host,
    port: integer('PORT', 8080, 0, 65535),
    webPages: auth === 'off' ? undefined : { hosts, origins },
    allowedOrigins: origins,
  };
}
