import { unauthorized } from '../errors.ts';
import type { Access } from './access.ts';
import type { Tokens } from './tokens.ts';

const BEARER = /^bearer +(\S+)$/i;

/** Everybody needs a token: there is an issuer, and there are no access keys. */
export const createTokenAccess = (tokens: Pick<Tokens, 'known' | 'identify'>): Access => ({
  isOpen: () => false,
  identify({ authorization = '' }) {
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined) throw unauthorized();
    return tokens.known(token) ?? tokens.identify(token);
  },
});
