import { isQueuePattern, SCOPES } from '../caller.ts';
import { invalidRequest, keyNameTaken, keyNotFound, tooManyKeys } from '../errors.ts';
import { FIRST_ID, isUuid } from '../ids.ts';
import { LONGEST_SECONDS } from '../job.ts';
import type { Database, Db } from '../postgres/pool.ts';
import { planned, row } from '../postgres/statements.ts';
import { timeForPostgres } from '../postgres/times.ts';
import {
  KEY_NAME,
  KEY_OVERLAP_SECONDS,
  type KeyInfo,
  type MadeKey,
  MOST_QUEUE_PATTERNS,
  type NewKey,
} from '../verbs/keys.ts';
import { hashOf, idIn, newKey, newKeyId } from './keyFormat.ts';

/** More than this cannot be in use at once: every replica holds them all in memory. */
export const MOST_KEYS = 10_000;
const statements = {
  now: planned('postgres/now', row<{ now: string }>()),
  change: planned('access/change'),
  taken: planned('access/taken', row<{ keys: number; has_name: boolean }>()),
  create: planned('access/create', row<KeyInfo>()),
  list: planned('access/list', row<KeyInfo>()),
  revoke: planned('access/revoke'),
  rotate: planned('access/rotate', row<KeyInfo>()),
  find: planned('access/find', row<{ revoked_at: string | null; expires_at: string | null; hash: string }>()),
  putFromFile: planned('access/put_from_file'),
  findNamed: planned('access/find_named', row<{ id: string }>()),
};

const refuse = (path: string, message: string) => invalidRequest([{ path, message }]);

function check({ name, scopes, queues = ['*'] }: NewKey): void {
  if (!new RegExp(KEY_NAME).test(name))
    throw refuse('/name', 'must be 1 to 128 printable characters of ASCII');
  if (scopes.length === 0 || scopes.some((scope) => !SCOPES.includes(scope)))
    throw refuse('/scopes', `must be some of ${SCOPES.join(', ')}`);
  if (queues.length === 0 || queues.length > MOST_QUEUE_PATTERNS || !queues.every(isQueuePattern))
    throw refuse(
      '/queues',
      `must be 1 to ${MOST_QUEUE_PATTERNS} names of queues, or beginnings of names followed by *`,
    );
}

/** Whether a key can make others. Where there is none, only whoever reaches the database can. */
export const canMakeKeys = ({ scopes, queues = ['*'] }: Pick<NewKey, 'scopes' | 'queues'>): boolean =>
  scopes.includes('admin') && queues.includes('*');

/** Creates, shows and revokes keys. `changed` makes this replica see a change before it is answered. */
export function keyAdmin({ db, changed }: { db: Database; changed(): Promise<void> }) {
  /** All replicas hear of it. */
  async function change<T>(work: (db: Db) => Promise<T>, creates = false): Promise<T> {
    const done = await db.transaction(async (db) => {
      await db.query(statements.change, { creates });
      return work(db);
    });
    // It is done. When this replica cannot look now, it will soon.
    await changed().catch(() => undefined);
    return done;
  }

  async function endOf({ expires_at, expires_in_seconds }: NewKey): Promise<string | null> {
    if (expires_at === undefined) return null;
    if (expires_in_seconds !== undefined)
      throw refuse('/expires_at', 'must not be sent together with expires_in_seconds');
    const [row] = await db.query(statements.now);
    const end = timeForPostgres(expires_at) ?? '';
    const ms = Date.parse(end) - Date.parse((row as { now: string }).now);
    if (!(ms > 0 && ms <= LONGEST_SECONDS * 1000))
      throw refuse('/expires_at', 'must be in the future, and within 366 days from now');
    return end;
  }

  return {
    async create(wanted: NewKey): Promise<MadeKey> {
      check(wanted);
      const expires_at = await endOf(wanted);
      const { name, scopes, queues = ['*'], expires_in_seconds = null } = wanted;
      const id = newKeyId();
      const key = newKey(id);
      const hash = hashOf(key).toString('base64');
      const [made] = await change(async (db) => {
        const [taken] = await db.query(statements.taken, { name });
        if (taken?.has_name) throw keyNameTaken(name);
        if ((taken?.keys ?? 0) >= MOST_KEYS) throw tooManyKeys(MOST_KEYS);
        const unique = { scopes: [...new Set(scopes)], queues: [...new Set(queues)] };
        return db.query(statements.create, { id, name, hash, ...unique, expires_at, expires_in_seconds });
      }, true);
      return { ...(made as KeyInfo), key };
    },

    /** A page of keys, oldest first, after the key `after`. */
    list: ({ limit, after = FIRST_ID }: { limit: number; after?: string | undefined }): Promise<KeyInfo[]> =>
      db.query(statements.list, { limit, after }),

    /** From now on the key is refused. A key that is revoked already stays so. @throws Refusal `key_not_found` */
    async revoke({ id }: { id: string }): Promise<void> {
      if (!isUuid(id)) throw keyNotFound(id);
      await change(async (db) => {
        const [found] = await db.query(statements.revoke, { id });
        if (!found) throw keyNotFound(id);
      });
    },

    /** Makes a new key in place of an old one, which goes on for a while. @throws Refusal `key_not_found` */
    async rotate({
      id,
      overlap_seconds = KEY_OVERLAP_SECONDS,
    }: {
      id: string;
      overlap_seconds?: number | undefined;
    }): Promise<MadeKey> {
      if (!isUuid(id)) throw keyNotFound(id);
      const key = newKey(id);
      const info = await change(async (db) => {
        const [found] = await db.query(statements.rotate, {
          id,
          hash: hashOf(key).toString('base64'),
          overlap_seconds,
        });
        if (!found) throw keyNotFound(id);
        return found;
      });
      return { ...info, key };
    },

    /**
     * Puts in a key that was made elsewhere. It may do everything. Returns false, and changes nothing, where another
     * key has its id, or the key is revoked.
     */
    async put(key: string): Promise<boolean> {
      const id = idIn(key);
      const hash = hashOf(key).toString('base64');
      const look = async () => (await db.query(statements.find, { id }))[0];
      if (!(await look())) {
        const name = `ADMIN_KEY_FILE ${id.slice(-12)}`;
        await change((db) => db.query(statements.putFromFile, { id, name, hash }), true);
      }
      const found = await look();
      return found !== undefined && found.revoked_at === null && found.hash === hash;
    },

    /** The id of the key with this id or name. @throws Refusal `key_not_found` */
    async find(text: string): Promise<string> {
      const [found] = await db.query(statements.findNamed, { text });
      if (!found) throw keyNotFound(text);
      return found.id;
    },
  };
}

export type KeyAdmin = ReturnType<typeof keyAdmin>;
