import type { Caller } from './caller.ts';

/** A credential that was found good. */
export interface Known {
  /** The caller, as long as the credential is good. A key notes its use. */
  use(): Caller | undefined;
}

interface Shown {
  credential: string;
  known: Known;
}

/** Beyond this number of keys, those that were shown before are forgotten. */
const MOST_KEYS = 10_000;

/**
 * Whether two credentials are the same. It takes the same time wherever the first difference is: it has no early exit. A text is
 * compared as it is, because to copy it for crypto.timingSafeEqual costs several times as much as the rest.
 */
function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let difference = 0;
  for (let i = 0; i < one.length; i++) difference |= one.charCodeAt(i) ^ other.charCodeAt(i);
  return difference === 0;
}

/**
 * Tells who shows a credential, sooner where the same one was shown before: to compare two takes less time than to hash one.
 * `place` is where to look for the one before: the id of a key, or the connection of a token. Clients of a proxy share a
 * connection. `never` is a credential that nobody has, for a place where none was shown: an unknown place takes as long as a
 * known one.
 */
export function shownBefore(find: (credential: string) => Known | undefined, never: string) {
  const byId = new Map<string, Shown>();
  const byConnection = new WeakMap<object, Shown>();
  const nobody: Shown = { credential: never, known: { use: () => undefined } };

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
    const caller = isSame(credential, before.credential) ? before.known.use() : undefined;
    if (caller) return caller;
    const known = find(credential);
    if (known) remember(place, { credential, known });
    return known?.use();
  };
}
