import { readFileSync, statSync } from 'node:fs';
import { StartError } from '../errors.ts';
import type { Database } from '../postgres/pool.ts';
import { keyAdmin } from './keyAdmin.ts';
import { typoIn } from './keyFormat.ts';

/** More than a key has. A file of any size may be named by mistake. */
const LONGEST_FILE = 4096;

/** What a file holds, and whether others than its owner may read it. @throws StartError */
function readKeyFile(path: string): { key: string; mode: number } {
  try {
    const { mode, size } = statSync(path);
    return { key: size > LONGEST_FILE ? '' : readFileSync(path, 'utf8').trim(), mode };
  } catch (error) {
    throw new StartError(`ADMIN_KEY_FILE ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
}

/** Puts the key in a file into the database, for everything, unless it is there. @throws StartError */
export async function putAdminKey(path: string, db: Database, warn: (line: string) => void): Promise<void> {
  const { key, mode } = readKeyFile(path);
  const typo = typoIn(key);
  if (typo !== undefined)
    throw new StartError(
      `ADMIN_KEY_FILE ${path} does not hold an access key: ${typo}. "dibs keys create --print-only" makes one.`,
    );
  if ((mode & 0o077) !== 0 && process.platform !== 'win32')
    warn(`others than its owner may read ADMIN_KEY_FILE ${path}: its mode should be 600`);
  const keys = keyAdmin({ db, changed: async () => undefined });
  if (!(await keys.put(key)))
    warn(`the key in ADMIN_KEY_FILE ${path} is not valid any more: it was revoked, or rotated`);
}
