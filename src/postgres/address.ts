import type pg from 'pg';
import { hostUrlsOf } from '../config/databaseHosts.ts';
import { type DatabaseTls, databaseTls } from '../config/databaseTls.ts';

/** What the URLs said about TLS when their files could be read last. */
const lastTls = new Map<string, DatabaseTls>();

/** Reads the files again for each connection: they may have been renewed. While they are broken, the old ones serve. */
function tlsOf(url: string): DatabaseTls {
  try {
    const tls = databaseTls(new URL(url));
    lastTls.set(url, tls);
    return tls;
  } catch (error) {
    const tls = lastTls.get(url);
    if (tls) return tls;
    throw error;
  }
}

/** The driver has meanings of its own for these parameters (docs/decisions/0024-tls.md). So it does not see them. */
function withoutTls(url: string): string {
  const parsed = new URL(url);
  const ours = [...parsed.searchParams.keys()].filter((name) => /^(ssl|uselibpqcompat)/.test(name));
  for (const name of ours) parsed.searchParams.delete(name);
  return ours.length > 0 ? parsed.href : url;
}

/** Where the database is, and how TLS is spoken with it. Of several hosts, it is the first one. */
export function addressOptions(url: string): pg.ClientConfig {
  const [first] = hostUrlsOf(url);
  return { connectionString: withoutTls(first), ...tlsOf(first) };
}
