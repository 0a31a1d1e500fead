/** What `target_session_attrs` may be, as in libpq. A service that writes has no use for the others. */
export const TARGETS = ['any', 'read-write', 'primary'] as const;
export type Target = (typeof TARGETS)[number];

const AUTHORITY = /^(\w+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s;
const HOST = /^(\[[^\]]+\]|[^:%]+)(:\d+)?$/;

/** One URL for each host that the URL of a database names, in their order. */
export function hostUrlsOf(url: string): [string, ...string[]] {
  const [, before = '', hosts = '', after = ''] = AUTHORITY.exec(url) ?? [];
  if (!hosts.includes(',')) return [url];
  return hosts.split(',').map((host) => before + host + after) as [string, ...string[]];
}

/** The last one counts, as in libpq. */
const parameterOf = (url: string, name: string) => new URL(url).searchParams.getAll(name).at(-1) || undefined;

/** What Dibs asks of a server before it uses a connection. Of several hosts, only one may take writes. */
export function targetOf(url: string): Target {
  const [first, ...others] = hostUrlsOf(url);
  const given = parameterOf(first, 'target_session_attrs');
  return (given as Target | undefined) ?? (others.length > 0 ? 'read-write' : 'any');
}

const AS_LIST = 'several hosts are written as in postgres://user:password@host1:5432,host2:5432/database';

/** Whether each host of a list is a name or an address, with or without a port. */
function isListOfHosts(url: string): boolean {
  const [, , hosts = ''] = AUTHORITY.exec(url) ?? [];
  return hosts.split(',').every((host) => HOST.test(host));
}

/** @throws Error that says what is wrong with the hosts of a URL */
export function checkHosts(url: string): void {
  const [first, ...others] = hostUrlsOf(url);
  if (others.length > 0 && !isListOfHosts(url)) throw new Error(AS_LIST);
  const [host, port] = ['host', 'port'].map((name) => parameterOf(first, name));
  const isElsewhere = others.length > 0 && (host ?? port) !== undefined;
  if (isElsewhere || host?.includes(',') || port?.includes(',')) throw new Error(AS_LIST);
  if (!TARGETS.includes(targetOf(url)))
    throw new Error(`target_session_attrs must be one of ${TARGETS.join(', ')}`);
}
