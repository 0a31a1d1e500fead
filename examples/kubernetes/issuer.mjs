// Plays the part of Kubernetes that matters here: the API server that issues tokens and publishes its keys, and the
// kubelet that keeps a fresh token in a file of each pod.
import { rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';

const ISSUER = 'https://kubernetes.default.svc.cluster.local';
const KEYS_PATH = '/openid/v1/jwks';

async function createKey(number) {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const kid = `cluster-key-${number}`;
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } };
}

/** The API server. `rotate` makes it sign with a new key; `retire` withdraws the keys before the newest. */
export async function startApiServer() {
  let keys = [await createKey(1)];
  const server = createServer((request, response) => {
    if (request.url !== KEYS_PATH) return response.writeHead(404).end();
    response.setHeader('content-type', 'application/jwk-set+json');
    return response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
  });
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));

  return {
    issuer: ISSUER,
    jwks: `http://127.0.0.1:${server.address().port}${KEYS_PATH}`,
    async rotate() {
      keys.push(await createKey(keys.length + 1));
    },
    retire() {
      keys = keys.slice(-1);
    },
    /** A token as in a projected volume: for one service account and one audience, with an end. */
    token({ namespace, serviceAccount, audience = 'dibs', expirationSeconds = 600 }) {
      const { kid, privateKey } = keys.at(-1);
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({
        aud: [audience],
        exp: now + expirationSeconds,
        iat: now,
        iss: ISSUER,
        'kubernetes.io': { namespace, serviceaccount: { name: serviceAccount } },
        nbf: now,
        sub: `system:serviceaccount:${namespace}:${serviceAccount}`,
      })
        .setProtectedHeader({ alg: 'RS256', kid })
        .sign(privateKey);
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The kubelet: writes the token of a pod into a file, and a new one every `renewSeconds`. */
export async function project(apiServer, path, account, renewSeconds) {
  async function write() {
    await writeFile(`${path}.new`, await apiServer.token(account));
    // A reader finds the old token or the new one, never a part.
    await rename(`${path}.new`, path);
  }
  /** One after the other: two at once would take the new file away from each other. */
  let last = Promise.resolve();
  function renew() {
    last = last.catch(() => undefined).then(write);
    return last;
  }
  await renew();
  const timer = setInterval(() => renew().catch(console.error), renewSeconds * 1000);
  return { renew, stop: () => clearInterval(timer) };
}
