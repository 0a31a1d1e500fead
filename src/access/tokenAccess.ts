import { unauthorized } from '../errors.ts';
import type { Access, Credential } from './access.ts';
import type { Tokens } from './tokens.ts';

const tokenIn = ({ authorization = '' }: Credential) => /^bearer +(\S+)$/i.exec(authorization)?.[1];

/** Everybody needs a token: there is an issuer, and there are no access keys. */
export const createTokenAccess = (tokens: Pick<Tokens, 'known' | 'identify'>): Access => ({
  isOpen: () => false,
  identify(credential) {
    const token = tokenIn(credential);
    if (token === undefined) throw unauthorized();
    return tokens.known(token) ?? tokens.identify(token);
  },
  known(credential) {
    const token = tokenIn(credential);
    return token === undefined ? undefined : tokens.known(token);
  },
});
