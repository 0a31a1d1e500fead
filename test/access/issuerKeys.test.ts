import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createTokens } from '../../src/access/tokens.ts';
import { Refusal, StartError } from '../../src/errors.ts';
import { createSigner, type Issuer, inSeconds, startIssuer } from '../support/issuer.ts';

const signer = await createSigner();
const other = await createSigner();
const elsewhere = await startIssuer(signer);
afterAll(() => elsewhere.stop());

let issuer: Issuer;
let folder: string;
let log: string[];
beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
  issuer = await startIssuer(signer);
  folder = await mkdtemp(join(tmpdir(), 'dibs-keys-'));
  log = [];
});
afterEach(async () => {
  vi.useRealTimers();
  issuer.stop();
  await rm(folder, { recursive: true });
});

const tokensOf = (jwks = issuer.config.jwks) =>
  createTokens({ ...issuer.config, jwks }, (why) => log.push(why));

/** What becomes of a token: its caller's name, or the code of the refusal. */
async function fateOf(promise: Promise<{ name: string }>): Promise<string> {
  try {
    return (await promise).name;
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

async function fileOf(content: string): Promise<string> {
  const path = join(folder, 'jwks.json');
  await writeFile(path, content);
  return path;
}

describe('the keys of the issuer', () => {
  test('a new key counts when the first token comes that it signed', async () => {
    const tokens = tokensOf();
    await tokens.identify(await signer.sign());
    issuer.serveKeys(signer, other);
    vi.advanceTimersByTime(6000);
    expect(await fateOf(tokens.identify(await other.sign()))).toBe('someone');
  });

  test('a key that was taken out counts for a minute at most, for known and for new tokens', async () => {
    const tokens = tokensOf();
    const [known, unknown] = [await signer.sign(), await signer.sign({ jti: '2' })];
    await tokens.identify(known);
    issuer.serveKeys(other);
    vi.advanceTimersByTime(60_000);
    expect(tokens.known(known)).toBeUndefined();
    for (const token of [known, unknown]) expect(await fateOf(tokens.identify(token))).toBe('unauthorized');
  });

  test('a key that was taken out counts for a minute at most, whatever is asked in between', async () => {
    const tokens = tokensOf();
    await tokens.identify(await signer.sign({ jti: 'first' }));
    issuer.serveKeys(other);
    const token = await signer.sign();
    vi.advanceTimersByTime(29_900);
    expect(await fateOf(tokens.identify(token))).toBe('someone');
    vi.advanceTimersByTime(30_100);
    expect(await fateOf(tokens.identify(token))).toBe('unauthorized');
  });

  test('are read again from a file that changes', async () => {
    const jwks = await fileOf(JSON.stringify({ keys: [signer.jwk] }));
    const tokens = tokensOf(jwks);
    await tokens.checkFiles();
    await tokens.identify(await signer.sign());
    await fileOf(JSON.stringify({ keys: [other.jwk] }));
    vi.advanceTimersByTime(2000);
    expect(await fateOf(tokens.identify(await other.sign()))).toBe('someone');
    expect(await fateOf(tokens.identify(await signer.sign({ jti: '2' })))).toBe('unauthorized');
    expect(issuer.requests()).toBe(0);
  });

  test.each([
    ['is not there', undefined],
    ['is not JSON', 'keys'],
    ['has no keys', '{}'],
  ])('a file that %s is told at the start', async (_, content) => {
    const jwks = content === undefined ? join(folder, 'missing') : await fileOf(content);
    await expect(tokensOf(jwks).checkFiles()).rejects.toThrow(StartError);
  });
});

describe('while the keys are away', () => {
  const WAYS: [string, (issuer: Issuer) => void][] = [
    ['answer 500', ({ serve }) => serve((response) => response.writeHead(500).end())],
    [
      'lead elsewhere',
      ({ serve }) => serve((r) => r.writeHead(302, { location: elsewhere.config.jwks }).end()),
    ],
    ['are not JSON', ({ serveText }) => serveText('<html>')],
    ['are no key set', ({ serveText }) => serveText('[]')],
    ['are huge', ({ serveText }) => serveText(`{"keys":["${'x'.repeat(2 ** 21)}"]}`)],
    ['hang up', ({ serve }) => serve((response) => response.destroy())],
    ['never answer', ({ serve }) => serve(() => undefined)],
    ['never end', ({ serve }) => serve((response) => void response.writeHead(200).write('{"keys":'))],
  ];

  test.each(WAYS)(
    'they %s: a token is 503, never 401, and good again when the keys are back',
    async (_, goAway) => {
      const tokens = tokensOf();
      goAway(issuer);
      const token = await signer.sign();
      expect(await fateOf(tokens.identify(token))).toBe('unavailable');
      expect(log.join()).toContain(issuer.config.jwks);
      issuer.serveKeys(signer);
      vi.advanceTimersByTime(1000);
      expect(await fateOf(tokens.identify(token))).toBe('someone');
    },
  );

  test('a token that was good goes on for ten minutes, but not beyond its end, and a new one is 503', async () => {
    const tokens = tokensOf();
    const long = await signer.sign({ exp: inSeconds(3600) });
    const short = await signer.sign({ exp: inSeconds(300) });
    await tokens.identify(long);
    await tokens.identify(short);
    issuer.serve((response) => response.destroy());
    vi.advanceTimersByTime(290_000);
    expect(await fateOf(tokens.identify(short))).toBe('someone');
    vi.advanceTimersByTime(300_000);
    expect(await fateOf(tokens.identify(long))).toBe('someone');
    expect(await fateOf(tokens.identify(short))).toBe('unavailable');
    expect(await fateOf(tokens.identify(await signer.sign({ jti: 'new' })))).toBe('unavailable');
    vi.advanceTimersByTime(30_000);
    expect(await fateOf(tokens.identify(long))).toBe('unavailable');
    issuer.serveKeys(signer);
    vi.advanceTimersByTime(1000);
    expect(await fateOf(tokens.identify(long))).toBe('someone');
    expect(await fateOf(tokens.identify(short))).toBe('unauthorized');
  });

  test('they are asked for once a second, however many tokens come', async () => {
    const tokens = tokensOf();
    issuer.serve((response) => response.destroy());
    for (let i = 0; i < 20; i++)
      expect(await fateOf(tokens.identify(await signer.sign({ jti: `${i}` })))).toBe('unavailable');
    expect(issuer.requests()).toBe(1);
  });
});
