import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { base64url, exportSPKI, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTokens } from '../../src/access/tokens.ts';
import type { TokenConfig } from '../../src/config/tokens.ts';
import { Refusal, StartError } from '../../src/errors.ts';
import { AUDIENCE, createSigner, ISSUER, type Issuer, inSeconds, startIssuer } from '../support/issuer.ts';

const signer = await createSigner();
const other = await createSigner();

let issuer: Issuer;
let folder: string;
let log: string[];
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  issuer = await startIssuer(signer);
  folder = await mkdtemp(join(tmpdir(), 'dibs-tokens-'));
  log = [];
});
afterEach(async () => {
  vi.useRealTimers();
  issuer.stop();
  await rm(folder, { recursive: true });
});

const tokensOf = (config: Partial<TokenConfig> = {}) =>
  createTokens({ ...issuer.config, ...config }, (why) => log.push(why));

async function fileOf(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

/** The code of the refusal. Its message must give no reason. */
async function refusedWith(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => undefined,
    (error) => error,
  );
  if (!(error instanceof Refusal)) throw error ?? new Error('it was not refused');
  if (error.code === 'unauthorized') expect(error.message).toMatch(/^A valid access key is required/);
  return error.code;
}

describe('a good token', () => {
  test('names its caller, with the scopes and queues of its claims', async () => {
    const caller = await tokensOf().identify(await signer.sign());
    expect(caller.name).toBe('someone');
    const scopes = (['produce', 'consume', 'read', 'admin'] as const).map(caller.may);
    expect(scopes).toEqual([true, true, false, false]);
    expect(['mail.out', 'mail', 'pay'].map(caller.mayUse)).toEqual([true, false, false]);
  });

  test('is known after its first check, and costs no other request for keys', async () => {
    const tokens = tokensOf();
    const token = await signer.sign();
    expect(tokens.known(token)).toBeUndefined();
    const caller = await tokens.identify(token);
    expect(tokens.known(token)?.use()).toBe(caller);
    expect(await tokens.identify(token)).toBe(caller);
    expect(issuer.requests()).toBe(1);
  });

  test('is checked once, when many requests bring it at once', async () => {
    const tokens = tokensOf();
    const token = await signer.sign();
    const callers = await Promise.all(Array.from({ length: 50 }, () => tokens.identify(token)));
    expect(new Set(callers).size).toBe(1);
    expect(issuer.requests()).toBe(1);
  });

  test('has an id made of issuer and subject, whichever token it is', async () => {
    const tokens = tokensOf();
    const id = async (claims: JWTPayload) => (await tokens.identify(await signer.sign(claims))).id;
    const someone = await id({});
    expect(someone).toMatch(/^jwt_/);
    expect(await id({ scope: 'dibs:read' })).toBe(someone);
    expect(await id({ sub: 'someone else' })).not.toBe(someone);
    const elsewhere = tokensOf({ issuer: 'https://other.test' });
    const token = await signer.sign({ iss: 'https://other.test' });
    expect((await elsewhere.identify(token)).id).not.toBe(someone);
  });

  test.each(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'])(
    'may be signed by %s',
    async (alg) => {
      const signer = await createSigner(alg);
      issuer.serveKeys(other, signer);
      expect((await tokensOf().identify(await signer.sign())).name).toBe('someone');
    },
  );

  test('needs no kid, also where several keys could have signed it', async () => {
    issuer.serveKeys(other, signer);
    const token = await signer.sign({}, { kid: undefined });
    expect((await tokensOf().identify(token)).name).toBe('someone');
  });

  test('may be for several audiences', async () => {
    const token = await signer.sign({ aud: ['elsewhere', AUDIENCE] });
    expect((await tokensOf().identify(token)).name).toBe('someone');
  });

  test('counts until its end, and as much longer as clocks may differ', async () => {
    const tokens = tokensOf();
    const token = await signer.sign({ exp: inSeconds(5) });
    await tokens.identify(token);
    vi.advanceTimersByTime(20_000);
    expect(tokens.known(token)).toBeDefined();
    vi.advanceTimersByTime(50_000);
    expect(tokens.known(token)).toBeUndefined();
    expect(await refusedWith(tokens.identify(token))).toBe('unauthorized');
  });
});

describe('a token is refused, and the answer gives no reason', () => {
  test.each([
    ['of another issuer', { iss: 'https://evil.test' }],
    ['without an issuer', { iss: undefined }],
    ['for another audience', { aud: 'payroll' }],
    ['without an audience', { aud: undefined }],
    ['that is expired', { exp: inSeconds(-120) }],
    ['without an end', { exp: undefined }],
    ['with an end that is no number', { exp: '2099-01-01' as unknown as number }],
    ['that is not valid yet', { nbf: inSeconds(120) }],
    ['that was issued in the future', { iat: inSeconds(120) }],
    ['without a subject', { sub: undefined }],
    ['with an empty subject', { sub: '' }],
    ['with a NUL in its subject', { sub: 'some\u0000one' }],
    ['with a subject without end', { sub: 'x'.repeat(1000) }],
    ['with scopes in a list', { scope: ['dibs:read'] }],
    ['with queues that are no patterns', { dibs_queues: ['mail.*', 'a b'] }],
    ['with queues that are no list', { dibs_queues: 7 }],
  ])('%s', async (_, claims) => {
    expect(await refusedWith(tokensOf().identify(await signer.sign(claims)))).toBe('unauthorized');
    expect(log).toHaveLength(1);
  });

  test('alg: none', async () => {
    const token = new UnsecuredJWT({ scope: 'dibs:admin', dibs_queues: ['*'] })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject('someone')
      .setExpirationTime('1h')
      .encode();
    expect(await refusedWith(tokensOf().identify(token))).toBe('unauthorized');
  });

  test('HS256 signed with the public key', async () => {
    const rsa = await createSigner('RS256');
    const { alg: _, ...jwk } = rsa.jwk;
    issuer.serveText(JSON.stringify({ keys: [jwk] }));
    for (const secret of [await exportSPKI(rsa.publicKey), JSON.stringify(jwk), jwk.n as string]) {
      const token = await new SignJWT({ sub: 'someone', scope: 'dibs:admin', dibs_queues: ['*'] })
        .setProtectedHeader({ alg: 'HS256', kid: jwk.kid })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setExpirationTime('1h')
        .sign(new TextEncoder().encode(secret));
      expect(await refusedWith(tokensOf().identify(token))).toBe('unauthorized');
    }
  });

  test('signed with a key that the issuer does not have, under a kid that it has', async () => {
    const token = await other.sign({}, { kid: signer.jwk.kid });
    expect(await refusedWith(tokensOf().identify(token))).toBe('unauthorized');
  });

  test('with an unknown kid; the keys are asked for again, but not for each such token', async () => {
    const tokens = tokensOf();
    await tokens.identify(await signer.sign());
    vi.advanceTimersByTime(10_000);
    for (let i = 0; i < 20; i++)
      expect(await refusedWith(tokens.identify(await other.sign({ jti: `${i}` })))).toBe('unauthorized');
    expect(issuer.requests()).toBe(2);
  });

  test('that brings its own key, or an address of one', async () => {
    const evil = await startIssuer(other);
    const headers = [
      { jwk: other.jwk },
      { jku: evil.config.jwks },
      { x5u: evil.config.jwks },
      { jwk: other.jwk, kid: undefined },
      { jku: evil.config.jwks, kid: signer.jwk.kid },
    ];
    for (const header of headers)
      expect(await refusedWith(tokensOf().identify(await other.sign({}, header)))).toBe('unauthorized');
    expect(evil.requests()).toBe(0);
    evil.stop();
  });

  test('with a critical extension', async () => {
    const [header, ...rest] = (await signer.sign()).split('.') as [string];
    const changed = { ...JSON.parse(Buffer.from(header, 'base64url').toString()), crit: ['b64'], b64: false };
    const token = [base64url.encode(JSON.stringify(changed)), ...rest].join('.');
    expect(await refusedWith(tokensOf().identify(token))).toBe('unauthorized');
  });

  test('cut short anywhere, or with a letter changed', async () => {
    const tokens = tokensOf();
    const token = await signer.sign();
    await tokens.identify(token);
    for (let length = 0; length < token.length; length += 7)
      expect(await refusedWith(tokens.identify(token.slice(0, length)))).toBe('unauthorized');
    for (let at = 0; at < token.length - 2; at += 7) {
      const letter = token[at] === 'A' ? 'B' : 'A';
      const changed = token.slice(0, at) + letter + token.slice(at + 1);
      expect(await refusedWith(tokens.identify(changed))).toBe('unauthorized');
    }
    expect(await tokens.identify(token)).toBeDefined();
  });

  test('of 100 KB, before anything is computed', async () => {
    const token = await signer.sign({ filler: 'x'.repeat(100_000) });
    const tokens = tokensOf();
    expect(tokens.known(token)).toBeUndefined();
    expect(await refusedWith(tokens.identify(token))).toBe('unauthorized');
    expect(issuer.requests()).toBe(0);
  });
});

describe('what a token does not say', () => {
  const rights = async (config: Partial<TokenConfig>, claims: object) => {
    const token = await signer.sign({ scope: undefined, dibs_queues: undefined, ...claims });
    const caller = await tokensOf(config).identify(token);
    return [caller.may('produce'), caller.may('consume'), caller.mayUse('mail'), caller.mayUse('pay')];
  };

  test('it does not allow', async () => {
    expect(await rights({}, {})).toEqual([false, false, false, false]);
    expect(await rights({}, { scope: 'dibs:produce' })).toEqual([true, false, false, false]);
    expect(await rights({}, { dibs_queues: 'mail pay' })).toEqual([false, false, true, true]);
    expect(await rights({}, { scope: 'openid dibs:fly produce' })).toEqual([false, false, false, false]);
  });

  test('comes from the grants: the first that matches the subject', async () => {
    const grants = await fileOf('grants.json', [
      { subject: 'system:serviceaccount:mail:sender', scopes: ['consume'], queues: ['mail'] },
      { subject: 'system:serviceaccount:mail:*', scopes: ['produce'], queues: ['mail'] },
      { subject: '*', scopes: [], queues: ['pay'] },
    ]);
    const of = (sub: string, claims: object = {}) => rights({ grants }, { sub, ...claims });
    expect(await of('system:serviceaccount:mail:sender')).toEqual([false, true, true, false]);
    expect(await of('system:serviceaccount:mail:web')).toEqual([true, false, true, false]);
    expect(await of('somebody')).toEqual([false, false, false, true]);
    // A claim of the token counts. Only what it does not say is taken from the grant.
    const web = (claims: object) => of('system:serviceaccount:mail:web', claims);
    expect(await web({ scope: 'dibs:consume' })).toEqual([false, true, true, false]);
    expect(await web({ dibs_queues: [] })).toEqual([true, false, false, false]);
    expect(await web({ scope: 'openid email' })).toEqual([true, false, true, false]);
  });

  test('changes with the file of grants, for known tokens within a minute', async () => {
    const grants = await fileOf('grants.json', [{ subject: '*', scopes: ['produce'], queues: ['*'] }]);
    const tokens = tokensOf({ grants });
    const token = await signer.sign({ scope: undefined });
    const before = await tokens.identify(token);
    expect(before.may('produce')).toBe(true);
    vi.advanceTimersByTime(40_000);
    expect(await tokens.identify(token)).toBe(before);
    await fileOf('grants.json', []);
    vi.advanceTimersByTime(40_000);
    expect((await tokens.identify(token)).may('produce')).toBe(false);
  });

  test.each([
    ['not JSON', 'grants'],
    ['no list', '{}'],
    ['an entry that is no object', '[null]'],
    ['a scope that there is not', '[{"subject":"*","scopes":["fly"],"queues":[]}]'],
    ['a queue that is no pattern', '[{"subject":"*","scopes":[],"queues":["a b"]}]'],
    ['an asterisk amid a subject', '[{"subject":"a*b","scopes":[],"queues":[]}]'],
    ['a field that is misspelt', '[{"subject":"*","scope":[],"queues":[]}]'],
  ])('grants with %s are told at the start', async (_, content) => {
    const grants = await fileOf('grants.json', content);
    await expect(tokensOf({ grants }).checkFiles()).rejects.toThrow(StartError);
  });
});
