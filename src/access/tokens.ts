import { hash } from 'node:crypto';
import type { CryptoKey, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { LruMap } from 'toad-cache';
import { type Caller, createCaller } from '../caller.ts';
import type { TokenConfig } from '../config/tokens.ts';
import { StartError, unauthorized, unavailable } from '../errors.ts';
import type { RequestIds } from './access.ts';
import { createKeySet, isUrl, readSmallFile } from './keySet.ts';
import { Away, reloaded } from './reloaded.ts';
import type { Known } from './shown.ts';
import { grantOf, parseGrants, type SubjectGrant } from './tokenGrants.ts';

/** Tells callers by JSON Web Tokens (RFC 7519) of the operator's own issuer. */
export interface Tokens {
  /** Reads the files that the configuration names. @throws StartError when one of them is missing or malformed */
  checkFiles(): Promise<void>;
  /** A token that was found good a short time ago. */
  known(token: string): Known | undefined;
  /** @throws Refusal `unauthorized`, or `unavailable` while the issuer's keys cannot be had */
  identify(token: string, ids?: RequestIds): Promise<Caller>;
}

/** A public key verifies each of them. A shared secret (HS256) or none would let in whoever knows the public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const MAX_TOKEN_LENGTH = 8 * 1024;
const MAX_SUBJECT_LENGTH = 512;
/** Of keys that look alike: without a `kid`, each may have signed the token. */
const MAX_KEYS_TRIED = 10;
const MAX_CACHED = 5000;
/** A token is checked anew after this time. With the age of the key set, a key that was taken out counts for a minute. */
const FRESH_MS = 30_000;
/** While the keys are away, a token that was good goes on for so long. */
const GRACE_MS = 600_000;
/** How long it is good without another look for the keys then. */
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

// biome-ignore lint/suspicious/noControlCharactersInRegex: a name with them would not go into a log or the database.
const CONTROL = /[\u0000-\u001f\u007f]/;

function checkedClaims({ sub, iat, exp }: JWTPayload, latest: number): { sub: string; exp: number } {
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH || CONTROL.test(sub))
    throw new Error('"sub" must be a name');
  if (iat !== undefined && iat > latest) throw new Error('"iat" is in the future');
  return { sub, exp: exp as number };
}

export function createTokens(
  config: TokenConfig,
  log: (why: string, ids?: RequestIds) => void = () => undefined,
): Tokens {
  const { issuer, audience, clockSkewSeconds } = config;
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: clockSkewSeconds,
    requiredClaims: ['exp', 'sub'],
  };
  const cache = new LruMap<Cached>(MAX_CACHED);
  const checks = new Map<string, Promise<Caller>>();
  let keys: Promise<JWTVerifyGetKey> | undefined;

  async function loadGrants(): Promise<SubjectGrant[]> {
    if (config.grants === undefined) return [];
    try {
      return parseGrants(await readSmallFile(config.grants));
    } catch (error) {
      throw new Error(`the grants in ${config.grants} cannot be read: ${(error as Error).message}`);
    }
  }
  const grants = reloaded(loadGrants, GRANTS_AGE_MS);

  const nowSeconds = () => Date.now() / 1000;
  const isAlive = ({ expires }: Cached) => nowSeconds() < expires + clockSkewSeconds;
  const isGood = (cached: Cached) => performance.now() < cached.freshUntil && isAlive(cached);

  /** Checks signature and claims. @throws Away, or Error for a token that is not good */
  async function verified(token: string): Promise<JWTPayload> {
    const { jwtVerify, errors } = await import('jose');
    keys ??= createKeySet(config.jwks);
    const check = async (key: CryptoKey | JWTVerifyGetKey) =>
      (await (typeof key === 'function' ? jwtVerify(token, key, options) : jwtVerify(token, key, options)))
        .payload;
    try {
      return await check(await keys);
    } catch (error) {
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
      let tries = 0;
      for await (const key of error) {
        if (++tries > MAX_KEYS_TRIED) break;
        try {
          return await check(key);
        } catch (failure) {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure;
        }
      }
      throw new Error('no key of the issuer made this signature');
    }
  }

  async function checkAnew(token: string, before: Cached | undefined): Promise<Cached> {
    const payload = await verified(token);
    const { sub, exp } = checkedClaims(payload, nowSeconds() + clockSkewSeconds);
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
    async checkFiles() {
      const { createLocalJWKSet } = await import('jose');
      try {
        if (!isUrl(config.jwks)) createLocalJWKSet(JSON.parse(await readSmallFile(config.jwks)));
      } catch (error) {
        throw new StartError(`JWT_JWKS: ${config.jwks} has no key set: ${(error as Error).message}.`);
      }
      await loadGrants().catch((error) => {
        throw new StartError(`JWT_GRANTS: ${error.message}.`);
      });
    },

    known: (token) => (token.length > MAX_TOKEN_LENGTH ? undefined : knownBy(sha256(token))),

    async identify(token, ids) {
      if (token.length > MAX_TOKEN_LENGTH) {
        log(`a token is refused: it is longer than ${MAX_TOKEN_LENGTH}`, ids);
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
