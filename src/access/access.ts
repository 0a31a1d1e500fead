import { ANYBODY, type Caller } from '../caller.ts';
import { unauthorized } from '../errors.ts';
import { idDigitsIn, idIn, KEY_LENGTH, KEY_PREFIX, typoIn } from './keyFormat.ts';
import type { Keys } from './keys.ts';
import { type Known, shownBefore } from './shown.ts';

/** What a client shows to say who it is. */
export interface Credential {
  /** The header `Authorization`. */
  authorization: string | undefined;
  /** The header came more than once. */
  isRepeated: boolean;
  /** The common name in a client certificate that was verified. */
  certificate: string | undefined;
  /** What it came through. */
  connection?: object;
  /** The request that it came with. */
  ids?: RequestIds | undefined;
}

/** Names a request in the log. */
export interface RequestIds {
  reqId?: string | undefined;
  traceId?: string | undefined;
}

/** Tells who sends a request. */
export interface Access {
  /** Nobody needs a key: there is none, or AUTH=off. */
  isOpen(): boolean;
  /** Nobody needs a key until there is one. The first one closes Dibs to whoever has none. */
  awaitsFirstKey(): boolean;
  /**
   * The caller. It is known at once, but for the first request with a credential.
   * @throws Refusal `unauthorized`. The message never says what is wrong with the credential.
   */
  identify(credential: Credential): Caller | Promise<Caller>;
  /** The caller, if its credential need not be checked for that. */
  known(credential: Credential): Caller | undefined;
}

/** Nobody needs a key. */
export const OPEN: Access = {
  isOpen: () => true,
  awaitsFirstKey: () => false,
  identify: () => ANYBODY,
  known: () => ANYBODY,
};

/** Tokens of an issuer, which are no keys of Dibs. */
export interface Tokens {
  /** A token that was checked before. */
  known(token: string): Known | undefined;
  identify(token: string, ids?: RequestIds): Promise<Caller>;
}

/** The value of AUTH. Undefined: keys are needed as soon as there is one, or an issuer. */
export type Auth = 'keys' | 'off' | undefined;

/** Why a credential was refused. For the log only: the caller never hears it. */
export interface RefusedCredential extends RequestIds {
  reason: string;
  key_id?: string;
  key_name?: string;
}

const LONGEST_HEADER = 8 * 1024;
const BEARER = 'Bearer ';
const BEARER_OF_KEY = BEARER + KEY_PREFIX;
/** As long as the header with a key. */
const NEVER = ' '.repeat(BEARER.length + KEY_LENGTH);

/** The token in `Authorization: Bearer <token>`. */
function tokenIn(authorization: string): string | undefined {
  if (authorization.startsWith(BEARER)) return authorization.slice(BEARER.length).trimStart();
  return /^bearer +(.*)$/i.exec(authorization)?.[1];
}

/** Tells by access keys, and by the tokens of an issuer where there is one, who sends a request. */
export function createAccess(options: {
  auth: Auth;
  keys: Keys;
  tokens?: Tokens | undefined;
  refused(why: RefusedCredential): void;
}): Access {
  const { auth, keys, tokens, refused } = options;

  const awaitsFirstKey = () => auth === undefined && tokens === undefined && !keys.exist();
  const isOpen = () => auth === 'off' || awaitsFirstKey();

  /** Whoever shows what is no credential is anybody, as long as nobody needs one. */
  function refuse(why: RefusedCredential): Caller {
    if (isOpen()) return ANYBODY;
    refused(why);
    throw unauthorized();
  }

  /** A caller that is not known may have got its key a moment ago. */
  async function lookFor(find: () => Caller | undefined, why: () => RefusedCredential): Promise<Caller> {
    await keys.refresh();
    return find() ?? refuse(why());
  }

  function byKey(key: string, ids: RequestIds | undefined): Caller | Promise<Caller> {
    const typo = typoIn(key);
    if (typo !== undefined) return refuse({ reason: typo, ...ids });
    return lookFor(
      () => keys.known(key)?.use(),
      () => ({ key_id: idIn(key), ...keys.whyUnknown(key), ...ids }),
    );
  }

  function byCertificate(name: string, ids: RequestIds | undefined): Caller | Promise<Caller> {
    const find = () => keys.named(name);
    return (
      find() ??
      lookFor(find, () => ({ reason: 'no key has the name of the certificate', key_name: name, ...ids }))
    );
  }

  const shownAt = shownBefore(
    (authorization) => {
      const token = tokenIn(authorization);
      if (token === undefined) return undefined;
      return token.startsWith(KEY_PREFIX) ? keys.known(token) : tokens?.known(token);
    },
    { never: NEVER, longest: LONGEST_HEADER },
  );

  /** The caller with this header, if its key or token need not be looked for. */
  function shown(authorization: string, connection: object | undefined): Caller | undefined {
    const isKey = authorization.startsWith(BEARER_OF_KEY);
    return shownAt(authorization, isKey ? idDigitsIn(authorization.slice(BEARER.length)) : connection);
  }

  return {
    isOpen,
    awaitsFirstKey,

    known({ authorization = '', isRepeated, certificate, connection }) {
      if (isRepeated || authorization.length > LONGEST_HEADER) return undefined;
      if (authorization !== '') return shown(authorization, connection);
      return certificate === undefined ? undefined : keys.named(certificate);
    },

    identify({ authorization, isRepeated, certificate, connection, ids }) {
      if (auth === 'off') return ANYBODY;
      if (authorization === undefined)
        return certificate === undefined
          ? refuse({ reason: 'there is no Authorization', ...ids })
          : byCertificate(certificate, ids);
      if (isRepeated) return refuse({ reason: 'there are two headers Authorization', ...ids });
      if (authorization.length > LONGEST_HEADER)
        return refuse({ reason: 'the header Authorization is too long', ...ids });
      const caller = shown(authorization, connection);
      if (caller) return caller;
      const token = tokenIn(authorization);
      if (token === undefined)
        return refuse({ reason: 'the header Authorization has another scheme than Bearer', ...ids });
      if (token.startsWith(KEY_PREFIX)) return byKey(token, ids);
      return tokens?.identify(token, ids) ?? refuse({ reason: 'the token is no key of Dibs', ...ids });
    },
  };
}
