import { randomBytes } from 'node:crypto';
import { type Caller, createCaller, type OnEnd, type Scope } from '../caller.ts';
import type { Clock } from '../postgres/clock.ts';

export interface KeyRow {
  id: string;
  name: string;
  scopes: Scope[];
  queues: string[];
  hash: string;
  old_hash: string | null;
  old_hash_expires_at: string | null;
  expires_at: string | null;
  revoked_at: string | null;
}

/** A key, as this replica knows it. */
export interface Entry {
  /** The row as a text, to see whether it has changed. */
  text: string;
  id: string;
  name: string;
  caller: Caller;
  hash: Buffer;
  oldHash: Buffer;
  oldHashUntil: number;
  expiresAt: number;
  isRevoked: boolean;
  /** Another entry has taken its place. */
  isReplaced: boolean;
}

/** What callers wait for, by the entries of their keys. */
type Waits = Map<Entry, Set<() => void>>;

/** What an unknown key is compared with, so that it takes as long as a wrong secret of a known key. */
export const NO_HASH = randomBytes(32);

/** Keeps what to do when the key of an entry ends. */
const keepingEnds =
  (waits: Waits, entryOf: () => Entry): OnEnd =>
  (ended) => {
    const entry = entryOf();
    const ends = waits.get(entry) ?? new Set();
    waits.set(entry, ends.add(ended));
    return () => {
      ends.delete(ended);
      if (ends.size === 0 && waits.get(entry) === ends) waits.delete(entry);
    };
  };

const digitsOf = ({ id }: { id: string }) => id.replaceAll('-', '');

function toEntry(row: KeyRow, text: string, waits: Waits): Entry {
  const { id, name, hash, old_hash, old_hash_expires_at, expires_at, revoked_at } = row;
  const entry: Entry = {
    text,
    id,
    name,
    caller: createCaller({ id, name, onEnd: keepingEnds(waits, () => entry) }, row),
    hash: Buffer.from(hash, 'base64'),
    oldHash: old_hash === null ? NO_HASH : Buffer.from(old_hash, 'base64'),
    oldHashUntil: old_hash_expires_at === null ? 0 : Date.parse(old_hash_expires_at),
    expiresAt: expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(expires_at),
    isRevoked: revoked_at !== null,
    isReplaced: false,
  };
  return entry;
}

/** The keys of the last look at the database. */
export function createKeyTable(clock: Clock) {
  let byId = new Map<string, Entry>();
  let byName = new Map<string, Entry>();
  const waits: Waits = new Map();

  const isOver = (entry: Entry) =>
    entry.isRevoked || (entry.expiresAt !== Number.POSITIVE_INFINITY && entry.expiresAt <= clock.now());

  function remember(rows: KeyRow[]): void {
    const [idsBefore, ids, names] = [byId, new Map<string, Entry>(), new Map<string, Entry>()];
    for (const row of rows) {
      const digits = digitsOf(row);
      const text = JSON.stringify(row);
      const before = idsBefore.get(digits);
      // The same entry has the same caller, whose verbs are made already.
      const entry = before?.text === text ? before : toEntry(row, text, waits);
      ids.set(digits, entry);
      if (!entry.isRevoked) names.set(entry.name, entry);
    }
    for (const [digits, entry] of idsBefore) entry.isReplaced = ids.get(digits) !== entry;
    byId = ids;
    byName = names;
  }

  /** Nobody waits for jobs with a key that was revoked or rotated, or has expired. */
  function endWaits(): void {
    for (const [entry, ends] of waits) {
      if (!entry.isReplaced && !isOver(entry)) continue;
      waits.delete(entry);
      for (const end of ends) end();
    }
  }

  return {
    isOver,
    remember,
    endWaits,
    byDigits: (digits: string) => byId.get(digits),
    byName: (name: string) => byName.get(name),
  };
}
