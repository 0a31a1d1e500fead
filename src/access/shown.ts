import { timingSafeEqual } from 'node:crypto';
import type { Caller } from './caller.ts';

/** A credential that was found good. */
export interface Known {
  /** The caller, as long as the credential is good. A key notes its use. */
  use(): Caller | undefined;
}

/** What a connection showed last: in bytes, and the part of the work space where the next of the same length is compared. */
interface Shown {
  bytes: Buffer;
  place: Buffer;
  known: Known;
}

/**
 * Tells who shows a credential of at most `longest` characters, sooner on a connection that showed it last: most show the same one
 * each time, and to compare two takes less time than to hash one. Through a proxy, clients share a connection. So they are compared
 * in constant time.
 */
export function shownBefore(find: (credential: string) => Known | undefined, longest: number) {
  const last = new WeakMap<object, Shown>();
  const space = Buffer.alloc(longest);

  const isSame = (credential: string, { bytes, place }: Shown) => {
    // Headers have no character of two bytes (RFC 9110, section 5.5).
    if (credential.length !== bytes.length) return false;
    space.write(credential, 'latin1');
    return timingSafeEqual(bytes, place);
  };

  return (credential: string, connection: object | undefined): Caller | undefined => {
    if (connection === undefined) return find(credential)?.use();
    const before = last.get(connection);
    if (before && isSame(credential, before)) {
      const caller = before.known.use();
      if (caller) return caller;
    }
    const known = find(credential);
    if (known) {
      const bytes = Buffer.from(credential, 'latin1');
      last.set(connection, { bytes, place: space.subarray(0, bytes.length), known });
    }
    return known?.use();
  };
}
