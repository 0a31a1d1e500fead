import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { UsageError } from '../usage.ts';
import type { Env } from './terminal.ts';

/** Where a Dibs is, and the key for it. */
export interface Target {
  url?: string;
  key?: string;
  keyFile?: string;
}

export interface Contexts {
  current?: string;
  contexts: Record<string, Target>;
}

export const fileOf = (env: Env): string =>
  env.DIBS_CONFIG ||
  join(env.XDG_CONFIG_HOME || join(env.HOME || homedir(), '.config'), 'dibs', 'config.json');

/** @throws UsageError when the file is not as `dibs context` writes it */
export function readContexts(env: Env): Contexts {
  const file = fileOf(env);
  if (!existsSync(file)) return { contexts: {} };
  try {
    const { current, contexts } = JSON.parse(readFileSync(file, 'utf8'));
    if (typeof contexts !== 'object' || contexts === null) throw new Error('it has no "contexts"');
    return { current, contexts };
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
}

/** Only the user may read it: it has keys. It is replaced as a whole, so that no half of it is ever read. */
export function writeContexts(env: Env, contexts: Contexts): void {
  const file = fileOf(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(`${file}.part`, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  renameSync(`${file}.part`, file);
}

/**
 * The Dibs that a command talks to: `--context` or DIBS_CONTEXT, else DIBS_URL and DIBS_KEY or DIBS_KEY_FILE, else the current context, else
 * this machine. The key of one never goes to the URL of another.
 * @throws UsageError for a name that is no context
 */
export function targetOf(env: Env, named?: string): Target & { from?: string } {
  const name = named ?? (env.DIBS_CONTEXT || undefined);
  if (name === undefined && (env.DIBS_URL || env.DIBS_KEY || env.DIBS_KEY_FILE))
    return {
      url: env.DIBS_URL || undefined,
      key: env.DIBS_KEY,
      keyFile: env.DIBS_KEY_FILE,
      from: 'DIBS_URL, DIBS_KEY, DIBS_KEY_FILE',
    };
  const { current, contexts } = readContexts(env);
  const chosen = name ?? current;
  if (chosen === undefined) return {};
  if (!Object.hasOwn(contexts, chosen))
    throw new UsageError(`There is no context "${chosen}" in ${fileOf(env)}. \`dibs context\` lists them.`);
  return { ...contexts[chosen], from: `the context "${chosen}"` };
}

/** Whether somebody said which Dibs is meant. */
export const isTargetNamed = (env: Env): boolean =>
  Boolean(env.DIBS_CONTEXT || env.DIBS_URL || readContexts(env).current);
