import type { CryptoKey, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import type { TokenConfig } from '../config/tokens.ts';
import { createKeySet } from './keySet.ts';

/** A public key verifies each of them. A shared secret (HS256) or none would let in whoever knows the public key. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];

const MAX_SUBJECT_LENGTH = 512;
/** Of keys that look alike: without a `kid`, each may have signed the token. */
const MAX_KEYS_TRIED = 10;

// biome-ignore lint/suspicious/noControlCharactersInRegex: a name with them would not go into a log or the database.
const CONTROL = /[\u0000-\u001f\u007f]/;

function checkedClaims({ sub, iat, exp }: JWTPayload, latest: number): { sub: string; exp: number } {
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH || CONTROL.test(sub))
    throw new Error('"sub" must be a name');
  if (iat !== undefined && iat > latest) throw new Error('"iat" is in the future');
  return { sub, exp: exp as number };
}

/** The claims of a token that is good. */
export interface Verified {
  payload: JWTPayload;
  sub: string;
  /** Seconds since 1970. */
  exp: number;
}

/** Checks signatures and claims of tokens. */
export function createVerify({ issuer, audience, clockSkewSeconds, jwks }: TokenConfig) {
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: clockSkewSeconds,
    requiredClaims: ['exp', 'sub'],
  };
  let keys: Promise<JWTVerifyGetKey> | undefined;

  async function payloadOf(token: string): Promise<JWTPayload> {
    const { jwtVerify, errors } = await import('jose');
    keys ??= createKeySet(jwks);
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

  /** @throws Away, or Error for a token that is not good */
  return async (token: string): Promise<Verified> => {
    const payload = await payloadOf(token);
    return { payload, ...checkedClaims(payload, Date.now() / 1000 + clockSkewSeconds) };
  };
}
