import { ANYBODY, type Caller } from './caller.ts';

/** What a client shows to say who it is. */
export interface Credential {
  /** The header `Authorization`. */
  authorization: string | undefined;
  /** The common name in a client certificate that was verified. */
  certificate: string | undefined;
}

/** Tells who sends a request. */
export interface Access {
  /** Nobody needs a key: there is none, or AUTH=off. */
  isOpen(): boolean;
  /**
   * The caller. It is known at once, but for the first request with a credential.
   * @throws Refusal `unauthorized`. The message never says what is wrong with the credential.
   */
  identify(credential: Credential): Caller | Promise<Caller>;
  /** The caller, if its credential need not be checked for that. */
  known(credential: Credential): Caller | undefined;
}

/** Nobody needs a key. */
export const OPEN: Access = { isOpen: () => true, identify: () => ANYBODY, known: () => ANYBODY };
