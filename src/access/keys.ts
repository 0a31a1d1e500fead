import { timingSafeEqual } from 'node:crypto';
import type { Caller } from '../caller.ts';
import type { Clock } from '../postgres/clock.ts';
import type { Db } from '../postgres/pool.ts';
import { planned, prepared, row } from '../postgres/statements.ts';
import { hashOf, idDigitsIn } from './keyFormat.ts';
import { createKeyTable, type Entry, type KeyRow, NO_HASH } from './keyTable.ts';
import { createRefresh } from './refresh.ts';
import type { Known } from './shown.ts';

const statements = {
  state: prepared('access/state', row<{ version: string; has_had_keys: boolean }>()),
  snapshot: planned('access/snapshot', row<KeyRow>()),
  noteUse: planned('access/note_use'),
};

/** While a replica rests, a key that was looked at longer ago than this is looked at again before it is used. */
const TRUSTED_MS = 1000;

/**
 * All access keys, in memory: a request with a known key costs no statement. A replica reads the keys again when a
 * notification says that they have changed. Twice a second it looks whether they have, unless it rests (`isResting`). A
 * key that is not known is looked for before it is refused: another replica may have created it a moment ago.
 */
export function createKeys(context: { db: Db; clock: Clock; isResting?: () => boolean }) {
  const { db, clock, isResting = () => false } = context;
  let version: string | undefined;
  let hasHadKeys = false;
  let trustedUntil = Number.NEGATIVE_INFINITY;
  const table = createKeyTable(clock);
  const { isOver, endWaits } = table;
  const used = new Set<string>();

  /** The version is read first: keys that are newer than it are read once more, and none is missed. */
  async function look(): Promise<void> {
    const [state] = await db.query(statements.state);
    if (state && state.version !== version) {
      table.remember(await db.query(statements.snapshot));
      hasHadKeys = state.has_had_keys;
      version = state.version;
    }
    trustedUntil = performance.now() + TRUSTED_MS;
    endWaits();
  }

  const refresh = createRefresh(look);

  /** A notification may be lost, and nothing else would tell a replica that rests that a key was revoked. */
  const isTrusted = () => !isResting() || performance.now() < trustedUntil;

  function callerOf(entry: Entry): Caller | undefined {
    if (isOver(entry)) return undefined;
    used.add(entry.id);
    return entry.caller;
  }

  return {
    /** Sees every change that committed before this call. */
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
      const entry = table.byDigits(digits);
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
      const entry = isTrusted() ? table.byName(name) : undefined;
      return entry && callerOf(entry);
    },

    /** Why `known` knows no caller. For the log. */
    whyUnknown(key: string): { reason: string; key_id?: string; key_name?: string } {
      const entry = table.byDigits(idDigitsIn(key));
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
