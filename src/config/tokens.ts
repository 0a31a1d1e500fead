import { isLoopback } from './reach.ts';
import type { Variables } from './variables.ts';

/** Whose JSON Web Tokens count, and what they allow. */
export interface TokenConfig {
  issuer: string;
  audience: string;
  /** A URL or the path of a file. */
  jwks: string;
  /** The path of a file that says what a token gets for claims that it does not have. */
  grants: string | undefined;
  /** By how much the clocks of the issuer and of this replica may differ. */
  clockSkewSeconds: number;
}

/** Whoever can answer for the URL of the keys can let anybody in. So it is HTTPS, except on this machine. */
function isSafe(place: string): boolean {
  if (!place.includes('://')) return true;
  if (!URL.canParse(place)) return false;
  const { protocol, hostname } = new URL(place);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')));
}

export function readTokens({ text, integer, problems }: Variables): TokenConfig | undefined {
  const issuer = text('JWT_ISSUER');
  const audience = text('JWT_AUDIENCE');
  const jwks = text('JWT_JWKS');
  const grants = text('JWT_GRANTS');
  const clockSkewSeconds = integer('JWT_CLOCK_SKEW_SECONDS');
  if (jwks !== undefined && !isSafe(jwks))
    problems.push('JWT_JWKS must be an https URL (http only for this machine) or the path of a file');
  if (issuer !== undefined && audience !== undefined && jwks !== undefined)
    return { issuer, audience, jwks, grants, clockSkewSeconds };
  const given = [issuer, audience, jwks, grants].some((value) => value !== undefined);
  for (const [name, value] of Object.entries({ JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS: jwks }))
    if (given && value === undefined)
      problems.push(`${name} is missing: tokens need JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS`);
  return undefined;
}
