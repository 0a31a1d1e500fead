import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import type { TokenConfig } from '../../src/config/tokens.ts';

export const ISSUER = 'https://issuer.test';
export const AUDIENCE = 'dibs';

const inSeconds = (seconds: number) => Math.floor(Date.now() / 1000) + seconds;

/** A key of an issuer, and the tokens that it signs. */
export async function createSigner(alg = 'ES256', kid = `key-${Math.random()}`) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' };
  return {
    jwk,
    publicKey,
    privateKey,
    /** Signs a good token, but for the claims and header fields that are given. Undefined leaves one out. */
    sign: (claims: JWTPayload = {}, header: Partial<JWTHeaderParameters> = {}) =>
      new SignJWT({
        iss: ISSUER,
        aud: AUDIENCE,
        sub: 'someone',
        iat: inSeconds(0),
        exp: inSeconds(600),
        scope: 'dibs:produce dibs:consume',
        dibs_queues: ['mail.*'],
        ...claims,
      })
        .setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey),
  };
}

export type Signer = Awaited<ReturnType<typeof createSigner>>;

/** Serves the keys of an issuer. */
export async function startIssuer(...signers: Signer[]) {
  let answer: (response: ServerResponse) => void;
  let requests = 0;
  const serveText = (text: string) => {
    answer = (response) => response.end(text);
  };
  const serveKeys = (...of: Signer[]) => serveText(JSON.stringify({ keys: of.map(({ jwk }) => jwk) }));
  serveKeys(...signers);
  const server = createServer((_, response) => {
    requests++;
    answer(response);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  const config: TokenConfig = {
    issuer: ISSUER,
    audience: AUDIENCE,
    jwks: `http://127.0.0.1:${port}/jwks`,
    grants: undefined,
    clockSkewSeconds: 60,
  };
  return {
    config,
    serveKeys,
    serveText,
    serve(as: (response: ServerResponse) => void) {
      answer = as;
    },
    requests: () => requests,
    stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>;
export { inSeconds };
