// A worker that hashes strings with MD5, 25 at a time. It prints `ready` before its first claim, and
// `<place> <md5>` for each job whose ack was accepted. SIGTERM stops it.
import { createHash } from 'node:crypto';
// In a project of yours: from 'dibs-client'.
import { Client, Worker } from '../../dist/clients/typescript/src/index.js';

const { DIBS_URL: url, QUEUE: queue = 'strings', WORKER: name } = process.env;
const lines = new Map();

const worker = new Worker(
  new Client({ url }),
  {
    queues: [queue],
    concurrency: 25,
    leaseSeconds: 60,
    name,
    observe({ type, job }) {
      if (type === 'settled') console.log(lines.get(job.id));
      if (type === 'settled' || type === 'lost') lines.delete(job.id);
    },
  },
  ({ id, payload: { place, string } }) => {
    lines.set(id, `${place} ${createHash('md5').update(string).digest('hex')}`);
  },
);
console.log('ready');
await worker.runUntilSignal();
