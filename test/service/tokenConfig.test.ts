import { expect, test } from 'vitest';
import { ConfigError, readConfig } from '../../src/config.ts';

const ISSUER = { JWT_ISSUER: 'https://issuer.test', JWT_AUDIENCE: 'dibs', JWT_JWKS: './jwks.json' };

const refusal = (env: Record<string, string>): string => {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error(`accepted: ${JSON.stringify(env)}`);
};

test('an issuer is configured by its name, its audience and its keys', () => {
  expect(readConfig({}).tokens).toBeUndefined();
  expect(readConfig(ISSUER).tokens).toEqual({
    issuer: 'https://issuer.test',
    audience: 'dibs',
    jwks: './jwks.json',
    grants: undefined,
    clockSkewSeconds: 60,
  });
  const all = { ...ISSUER, JWT_GRANTS: './grants.json', JWT_CLOCK_SKEW_SECONDS: '0' };
  expect(readConfig(all).tokens).toMatchObject({ grants: './grants.json', clockSkewSeconds: 0 });
});

test.each(Object.keys(ISSUER))('%s is not left out', (name) => {
  expect(refusal({ ...ISSUER, [name]: '' })).toContain(`${name} is missing`);
});

test('grants alone are a mistake, too', () => {
  expect(refusal({ JWT_GRANTS: './grants.json' })).toContain('JWT_ISSUER is missing');
});

test('with an issuer, Dibs may listen on any address', () => {
  expect(readConfig({ ...ISSUER, HOST: '0.0.0.0' }).host).toBe('0.0.0.0');
});

test.each(['https://issuer.test/jwks', 'http://127.0.0.1:9000/jwks', 'http://[::1]/jwks', '/etc/dibs/jwks'])(
  'the keys may be at %s',
  (jwks) => expect(readConfig({ ...ISSUER, JWT_JWKS: jwks }).tokens?.jwks).toBe(jwks),
);

test.each(['http://issuer.test/jwks', 'http://127.0.0.1.evil.test/', 'ftp://issuer.test/', 'https://'])(
  'the keys may not be at %s',
  (jwks) => expect(refusal({ ...ISSUER, JWT_JWKS: jwks })).toContain('JWT_JWKS must be an https URL'),
);
