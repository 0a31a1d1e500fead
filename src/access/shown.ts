import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../caller.ts';

/** A credential that was found good. */
export interface Known {
  /** The caller, as long as the credential is good. A key notes its use. */
  use(): Caller | undefined;
}

interface Shown {
  credential: string;
  known: Known;
  /** Of a long credential. */
  bytes: Buffer | undefined;
}

/** Beyond this number of keys, those that were shown before are forgotten. */
const MOST_KEYS = 10_000;
/** A longer text takes longer to compare here than to copy it for native code. A key is shorter, a token longer. */
const SHORT = 128;

/** It takes the same time wherever the first difference is: it has no early exit. */
function isSameText(one: string, other: string): boolean {
  let difference = 0;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}

/**
 * Tells who shows a credential, sooner where the same one was shown before: to compare two takes less time than to hash
 * one. `place` is where to look for the one before: the id of a key, or the connection of a token. Clients of a proxy
 * share a connection. `never` is a credential that nobody has, for a place where none was shown: an unknown place takes
 * as long as a known one. No credential is longer than `longest`.
 */
export function shownBefore(
  find: (credential: string) => Known | undefined,
  { never, longest }: { never: string; longest: number },
) {
  const byId = new Map<string, Shown>();
  const byConnection = new WeakMap<object, Shown>();
  const space = Buffer.alloc(longest);

  const toShown = (credential: string, known: Known): Shown => ({
    credential,
    known,
    // What is good has no character of two bytes: keys and tokens are ASCII.
    bytes: credential.length > SHORT ? Buffer.from(credential, 'latin1') : undefined,
  });
  const nobody = toShown(never, { use: () => undefined });

  function isSame(credential: string, before: Shown): boolean {
    if (credential.length !== before.credential.length) return false;
    if (!before.bytes) return isSameText(credential, before.credential);
    space.write(credential, 'latin1');
    return timingSafeEqual(before.bytes, space.subarray(0, before.bytes.length));
  }

  function remember(place: string | object, shown: Shown): void {
    if (typeof place !== 'string') byConnection.set(place, shown);
    else {
      if (byId.size >= MOST_KEYS) byId.clear();
      byId.set(place, shown);
    }
  }

  return (credential: string, place: string | object | undefined): Caller | undefined => {
    if (place === undefined) return find(credential)?.use();
    const before = (typeof place === 'string' ? byId.get(place) : byConnection.get(place)) ?? nobody;
    const caller = isSame(credential, before) ? before.known.use() : undefined;
    if (caller) return caller;
    const known = find(credential);
    if (known) remember(place, toShown(credential, known));
    return known?.use();
  };
}
