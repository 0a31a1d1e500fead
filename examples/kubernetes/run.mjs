// Dibs for pods that show their Kubernetes service account, and have no other secret:
//   npm run example:kubernetes -- [how many jobs]
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { claimJobs, enqueueJob, listQueues } from '../../dist/clients/typescript/src/index.js';
import { example, openService } from '../support/service.mjs';
import { project, startApiServer } from './issuer.mjs';
import { clientOf, produce, work } from './pods.mjs';

const GRANTS = fileURLToPath(new URL('./grants.json', import.meta.url));
const QUEUE = 'mail.outgoing';
/** Kubernetes renews after 48 minutes of an hour, or later. */
const RENEW_SECONDS = 1;
/** Dibs may have asked for the keys a moment ago. It asks again after 5 s for a key that it does not know. */
const PUBLISH_MS = 6000;

/** What is said of a call that must be refused. */
const refusal = (promise) =>
  promise.then(
    () => 'served, but it should not be',
    ({ status, message }) => `refused: ${status} ${message}`,
  );

async function main([count = '300'], unlessStopped) {
  const folder = await mkdtemp(join(tmpdir(), 'dibs-pods-'));
  const undo = [() => rm(folder, { recursive: true })];
  try {
    const apiServer = await startApiServer();
    undo.push(apiServer.close);
    const { url, close } = await openService({
      JWT_ISSUER: apiServer.issuer,
      JWT_AUDIENCE: 'dibs',
      JWT_JWKS: apiServer.jwks,
      JWT_GRANTS: GRANTS,
    });
    undo.push(close);

    const volumes = [];
    /** A pod with its token in a file. Returns its client of Dibs. */
    async function pod(namespace, serviceAccount, audience) {
      const path = join(folder, `${namespace}-${serviceAccount}-${audience ?? 'dibs'}`);
      const volume = await project(apiServer, path, { namespace, serviceAccount, audience }, RENEW_SECONDS);
      undo.push(volume.stop);
      volumes.push(volume);
      return clientOf(url, path);
    }
    const web = await pod('shop', 'web');
    const sender = await pod('mailer', 'sender');

    const jobs = Number(count);
    const rotation = async () => {
      await apiServer.rotate();
      for (const { renew } of volumes) await renew();
      console.log('the cluster signs with a new key');
    };
    const [done] = await unlessStopped(
      Promise.all([
        work(sender, QUEUE, jobs),
        produce(web, QUEUE, jobs, (2 * PUBLISH_MS) / jobs),
        sleep(PUBLISH_MS).then(rotation),
      ]),
    );
    apiServer.retire();
    const isComplete = done.length === jobs && new Set(done).size === jobs;
    console.log(`${done.length} jobs done, each once: ${isComplete ? 'yes' : 'NO'}`);

    const refused = {
      'the shop wants to pay': await refusal(enqueueJob(web, { queue: 'payments' })),
      'the shop wants to send mails': await refusal(claimJobs(web, { queues: [QUEUE] })),
      'a service account without a grant': await refusal(listQueues(await pod('lab', 'test'))),
      'a token for another service': await refusal(listQueues(await pod('shop', 'web', 'vault'))),
    };
    for (const [what, why] of Object.entries(refused)) console.log(`${what}: ${why}`);
    const statuses = Object.values(refused).map((why) => /: (\d{3}) /.exec(why)?.[1]);
    return isComplete && statuses.join() === '403,403,403,401';
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

await example(main);
