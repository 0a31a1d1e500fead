import { ANYBODY, type Caller } from '../caller.ts';
import { unauthorized } from '../errors.ts';
import { idDigitsIn, idIn, KEY_LENGTH, KEY_PREFIX, typoIn } from './keyFormat.ts';
import type { Keys } from './keys.ts';
import { type Known, shownBefore } from './shown.ts';

/** What a client shows to say who it is. */
export interface Credential {
  /** A key of Dibs, or a token of an issuer; or what was shown in the place of one. */
  token: string | undefined;
  /** Why that can be neither. For the log. */
  flaw?: string | undefined;
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
  /** The caller, where it is known without a check of the credential. */
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

/** A longer one is no token, whoever its issuer is. */
export const LONGEST_TOKEN = 8 * 1024;
/** As long as a key. */
const NEVER = ' '.repeat(KEY_LENGTH);

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
    (token) => (token.startsWith(KEY_PREFIX) ? keys.known(token) : tokens?.known(token)),
    { never: NEVER, longest: LONGEST_TOKEN },
  );

  /** The caller with this key or token, where this replica knows it already. */
  const shown = (token: string, connection: object | undefined): Caller | undefined =>
    shownAt(token, token.startsWith(KEY_PREFIX) ? idDigitsIn(token) : connection);

  return {
    isOpen,
    awaitsFirstKey,

    known({ token, flaw, certificate, connection }) {
      if (flaw !== undefined) return undefined;
      if (token === undefined) return certificate === undefined ? undefined : keys.named(certificate);
      return token.length > LONGEST_TOKEN ? undefined : shown(token, connection);
    },

    identify({ token, flaw, certificate, connection, ids }) {
      if (auth === 'off') return ANYBODY;
      if (flaw !== undefined) return refuse({ reason: flaw, ...ids });
      if (token === undefined)
        return certificate === undefined
          ? refuse({ reason: 'there is no credential', ...ids })
          : byCertificate(certificate, ids);
      if (token.length > LONGEST_TOKEN) return refuse({ reason: 'the token is too long', ...ids });
      const caller = shown(token, connection);
      if (caller) return caller;
      if (token.startsWith(KEY_PREFIX)) return byKey(token, ids);
      return tokens?.identify(token, ids) ?? refuse({ reason: 'the token is no key of Dibs', ...ids });
    },
  };
}
