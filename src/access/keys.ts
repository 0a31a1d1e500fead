import { randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Caller, createCaller, type OnEnd, type Scope } from '../caller.ts';
import { unavailable } from '../errors.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { hashOf, idDigitsIn } from './keyFormat.ts';
import type { Known } from './shown.ts';

interface KeyRow {
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

interface Entry {
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

const statements = {
  state: prepared('access/state', row<{ version: string; has_had_keys: boolean }>()),
  snapshot: planned('access/snapshot', row<KeyRow>()),
  noteUse: planned('access/note_use'),
};

/** Looks at the database begin at most this often, however many wrong keys come. */
const LOOK_MS = 50;
/** While a replica rests, a key that was looked at longer ago than this is looked at again before it is used. */
const TRUSTED_MS = 1000;
/** A look takes at most this long: a request must be answered within 5 s. */
const PATIENCE_MS = 4000;

/** What an unknown key is compared with, so that it takes as long as a wrong secret of a known key. */
const NO_HASH = randomBytes(32);

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

/**
 * All access keys, in memory: a request with a known key costs no statement. Replicas read the keys again when a notification
 * says that they have changed, and look twice a second whether they have, but for a replica that rests (`isResting`). A key that is not known is looked for before it is
 * refused: it may have been created a moment ago, on another replica.
 */
export function createKeys(context: { db: Db; clock: Clock; isResting?: () => boolean }) {
  const { db, clock, isResting = () => false } = context;
  let version: string | undefined;
  let hasHadKeys = false;
  let trustedUntil = Number.NEGATIVE_INFINITY;
  let byId = new Map<string, Entry>();
  let byName = new Map<string, Entry>();
  const used = new Set<string>();
  const waits: Waits = new Map();

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

  /** The version is read first: keys that are newer than it are read once more, and none is missed. */
  async function look(): Promise<void> {
    const [state] = await db.query(statements.state);
    if (state && state.version !== version) {
      remember(await db.query(statements.snapshot));
      hasHadKeys = state.has_had_keys;
      version = state.version;
    }
    trustedUntil = performance.now() + TRUSTED_MS;
    endWaits();
  }

  /** Nobody waits for jobs with a key that was revoked or rotated, or has expired. */
  function endWaits(): void {
    for (const [entry, ends] of waits) {
      if (!entry.isReplaced && !isOver(entry)) continue;
      waits.delete(entry);
      for (const end of ends) end();
    }
  }

  let running: Promise<void> = Promise.resolve();
  let began = Number.NEGATIVE_INFINITY;
  let next: Promise<void> | undefined;

  async function lookNext(): Promise<void> {
    await running.catch(() => undefined);
    const pause = began + LOOK_MS - performance.now();
    if (pause > 0) await sleep(pause);
    next = undefined;
    began = performance.now();
    running = look();
    return running;
  }

  const inTime = (work: Promise<void>) =>
    new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(unavailable()), PATIENCE_MS);
      work.finally(() => clearTimeout(late)).then(resolve, reject);
    });

  /** Sees every change that committed before this call. All who call before the look begins share it. */
  function refresh(): Promise<void> {
    next ??= inTime(lookNext());
    return next;
  }

  /** A notification may be lost, and nothing else would tell a replica that rests that a key was revoked. */
  const isTrusted = () => !isResting() || performance.now() < trustedUntil;

  const isOver = (entry: Entry) =>
    entry.isRevoked || (entry.expiresAt !== Number.POSITIVE_INFINITY && entry.expiresAt <= clock.now());

  function callerOf(entry: Entry): Caller | undefined {
    if (isOver(entry)) return undefined;
    used.add(entry.id);
    return entry.caller;
  }

  return {
    refresh,

    /** For a duty. While the replica rests, it only ends what waits with a key that has expired. */
    async follow(): Promise<boolean> {
      if (isResting()) endWaits();
      else await refresh();
      return false;
    },

    /** Whether the keys are known. */
    isLoaded: () => version !== undefined,

    /** Whether there is a key, or was one. As long as nobody knows, there may be. */
    exist: () => version === undefined || hasHadKeys,

    /** This key, if it is good. An unknown id takes as long as a wrong secret. */
    known(key: string): Known | undefined {
      const digits = idDigitsIn(key);
      const entry = byId.get(digits);
      const hash = hashOf(key);
      const isCurrent = timingSafeEqual(hash, entry?.hash ?? NO_HASH);
      const isOld = !isCurrent && timingSafeEqual(hash, entry?.oldHash ?? NO_HASH);
      if (!entry || !(isCurrent || isOld)) return undefined;
      const isGood = () =>
        isTrusted() && !entry.isReplaced && !isOver(entry) && (isCurrent || clock.now() < entry.oldHashUntil);
      return isGood() ? { use: () => (isGood() ? callerOf(entry) : undefined) } : undefined;
    },

    /** The caller that has the key of this name. */
    named(name: string): Caller | undefined {
      const entry = isTrusted() ? byName.get(name) : undefined;
      return entry && callerOf(entry);
    },

    /** Why `known` knows no caller. For the log. */
    whyUnknown(key: string): { reason: string; key_id?: string; key_name?: string } {
      const entry = byId.get(idDigitsIn(key));
      if (!entry) return { reason: 'there is no key with this id' };
      const { id: key_id, name: key_name } = entry;
      if (entry.isRevoked) return { reason: 'the key is revoked', key_id, key_name };
      if (isOver(entry)) return { reason: 'the key has expired', key_id, key_name };
      return { reason: 'the secret in the key is wrong', key_id, key_name };
    },

    /** For a duty: notes which keys were used. */
    async noteUse(): Promise<boolean> {
      if (used.size === 0) return false;
      const ids = [...used];
      used.clear();
      try {
        await db.query(statements.noteUse, { ids });
      } catch (error) {
        for (const id of ids) used.add(id);
        throw error;
      }
      return false;
    },
  };
}

export type Keys = ReturnType<typeof createKeys>;
