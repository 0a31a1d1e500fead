import { hash } from 'node:crypto';
import { LruMap } from 'toad-cache';
import { type Caller, createCaller } from '../caller.ts';
import type { TokenConfig } from '../config/tokens.ts';
import { StartError, unauthorized, unavailable } from '../errors.ts';
import { LONGEST_TOKEN, type RequestIds } from './access.ts';
import { isUrl, readSmallFile } from './keySet.ts';
import { Away, reloaded } from './reloaded.ts';
import type { Known } from './shown.ts';
import { grantOf, parseGrants, type SubjectGrant } from './tokenGrants.ts';
import { createVerify } from './verifyToken.ts';

/** Tells callers by JSON Web Tokens (RFC 7519) of the operator's own issuer. */
export interface Tokens {
  /** Reads the files that the configuration names. @throws StartError when one of them is missing or malformed */
  checkFiles(): Promise<void>;
  /** A token that was found good a short time ago. */
  known(token: string): Known | undefined;
  /** @throws Refusal `unauthorized`, or `unavailable` while the issuer's keys cannot be had */
  identify(token: string, ids?: RequestIds): Promise<Caller>;
}

const MAX_CACHED = 5000;
/**
 * A token is checked anew after this time. With the age of the key set, a key that was taken out counts for a minute.
 */
const FRESH_MS = 30_000;
/** While the keys of the issuer cannot be had, a token that was good before stays good for so long. */
const GRACE_MS = 600_000;
/** While they cannot be had, they are looked for this often. */
const LOOK_MS = 5000;
const GRANTS_AGE_MS = 1000;

interface Cached extends Known {
  caller: Caller;
  /** What the caller was made of. The verbs of a caller are kept with it, so an equal one is not made again. */
  made: string;
  /** Seconds since 1970. */
  expires: number;
  checkedAt: number;
  freshUntil: number;
}

const sha256 = (text: string) => hash('sha256', text, 'base64url');

async function loadGrants({ grants }: TokenConfig): Promise<SubjectGrant[]> {
  if (grants === undefined) return [];
  try {
    return parseGrants(await readSmallFile(grants));
  } catch (error) {
    throw new Error(`the grants in ${grants} cannot be read: ${(error as Error).message}`);
  }
}

/** Reads the files that the configuration names. @throws StartError when one of them is missing or malformed */
async function checkFiles(config: TokenConfig): Promise<void> {
  const { createLocalJWKSet } = await import('jose');
  try {
    if (!isUrl(config.jwks)) createLocalJWKSet(JSON.parse(await readSmallFile(config.jwks)));
  } catch (error) {
    throw new StartError(`JWT_JWKS: ${config.jwks} has no key set: ${(error as Error).message}.`);
  }
  await loadGrants(config).catch((error) => {
    throw new StartError(`JWT_GRANTS: ${error.message}.`);
  });
}

export function createTokens(
  config: TokenConfig,
  log: (why: string, ids?: RequestIds) => void = () => undefined,
): Tokens {
  const { issuer, clockSkewSeconds } = config;
  const verify = createVerify(config);
  const cache = new LruMap<Cached>(MAX_CACHED);
  const checks = new Map<string, Promise<Caller>>();
  const grants = reloaded(() => loadGrants(config), GRANTS_AGE_MS);

  const nowSeconds = () => Date.now() / 1000;
  const isAlive = ({ expires }: Cached) => nowSeconds() < expires + clockSkewSeconds;
  const isGood = (cached: Cached) => performance.now() < cached.freshUntil && isAlive(cached);

  async function checkAnew(token: string, before: Cached | undefined): Promise<Cached> {
    const { payload, sub, exp } = await verify(token);
    const grant = grantOf(payload, (await grants(GRANTS_AGE_MS)).value);
    const made = JSON.stringify([sub, grant]);
    const id = `jwt_${sha256(JSON.stringify([issuer, sub]))}`;
    const caller = before?.made === made ? before.caller : createCaller({ id, name: sub }, grant);
    const checkedAt = performance.now();
    const good: Cached = {
      caller,
      made,
      expires: exp,
      checkedAt,
      freshUntil: checkedAt + FRESH_MS,
      use: () => (isGood(good) ? caller : undefined),
    };
    return good;
  }

  async function check(token: string, key: string, ids: RequestIds | undefined): Promise<Caller> {
    const before = cache.get(key);
    try {
      const good = await checkAnew(token, before);
      cache.set(key, good);
      return good.caller;
    } catch (error) {
      const why = (error as Error).message;
      if (!(error instanceof Away)) {
        cache.delete(key);
        log(`a token is refused: ${why}`, ids);
        throw unauthorized();
      }
      log(why, ids);
      const now = performance.now();
      if (!before || !isAlive(before) || now - before.checkedAt > GRACE_MS)
        throw unavailable('Tokens cannot be checked now. Try again later.');
      before.freshUntil = now + LOOK_MS;
      return before.caller;
    }
  }

  function knownBy(key: string): Cached | undefined {
    const cached = cache.get(key);
    return cached && isGood(cached) ? cached : undefined;
  }

  return {
    checkFiles: () => checkFiles(config),

    known: (token) => (token.length > LONGEST_TOKEN ? undefined : knownBy(sha256(token))),

    async identify(token, ids) {
      if (token.length > LONGEST_TOKEN) {
        log(`a token is refused: it is longer than ${LONGEST_TOKEN}`, ids);
        throw unauthorized();
      }
      const key = sha256(token);
      const known = knownBy(key);
      if (known) return known.caller;
      const running = checks.get(key);
      if (running) return running;
      const started = check(token, key, ids).finally(() => checks.delete(key));
      checks.set(key, started);
      return started;
    },
  };
}
