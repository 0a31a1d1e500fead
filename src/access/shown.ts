import { timingSafeEqual } from 'node:crypto';
import type { Caller } from './caller.ts';

/** A credential that was found good. */
export interface Known {
  /** The caller, as long as the credential is good. A key notes its use. */
  use(): Caller | undefined;
}

/**
 * Tells who shows a credential, sooner on a connection that showed it last: most show the same one each time, and to compare two
 * takes a fifth of the time of a hash. Through a proxy, clients share a connection. So they are compared in constant time.
 */
export function shownBefore(find: (credential: string) => Known | undefined) {
  const last = new WeakMap<object, { credential: Buffer; known: Known }>();

  return (credential: string, connection: object | undefined): Caller | undefined => {
    if (connection === undefined) return find(credential)?.use();
    const bytes = Buffer.from(credential);
    const before = last.get(connection);
    if (before?.credential.length === bytes.length && timingSafeEqual(before.credential, bytes)) {
      const caller = before.known.use();
      if (caller) return caller;
    }
    const known = find(credential);
    if (known) last.set(connection, { credential: bytes, known });
    return known?.use();
  };
}
