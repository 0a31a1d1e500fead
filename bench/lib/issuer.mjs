import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { atEnd } from './cleanup.mjs';
import { workDir } from './machine.mjs';

const ISSUER = 'https://issuer.test';

/** An issuer with its key set in a file: the settings of a replica that trusts it, and a token of the size that Kubernetes issues. */
export async function createIssuer() {
  const folder = await mkdtemp(join(workDir(), 'dibs-tokens-'));
  atEnd(() => rm(folder, { recursive: true, force: true }));
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const jwks = join(folder, 'jwks.json');
  await writeFile(
    jwks,
    JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: '1', alg: 'RS256' }] }),
  );
  const token = await new SignJWT({
    scope: 'dibs:produce dibs:consume',
    dibs_queues: ['*'],
    'kubernetes.io': { namespace: 'shop', pod: { name: 'web-7d8b49557c-6jhsf', uid: '7f0c6c1e'.repeat(4) } },
  })
    .setProtectedHeader({ alg: 'RS256', kid: '1' })
    .setIssuer(ISSUER)
    .setAudience('dibs')
    .setSubject('system:serviceaccount:shop:web')
    .setIssuedAt()
    .setExpirationTime('12h')
    .sign(privateKey);
  return { settings: { JWT_ISSUER: ISSUER, JWT_AUDIENCE: 'dibs', JWT_JWKS: jwks }, token };
}
