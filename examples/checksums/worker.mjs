// A worker in Node with the library: 10 jobs side by side. SIGTERM stops it.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
// In a project of yours: from 'dibs-client'.
import { Client, Nack, Worker } from '../../dist/clients/typescript/src/index.js';

const {
  DIBS_URL: url,
  QUEUE = 'checksums',
  WORKER: name = `node-${process.pid}`,
  LEASE_SECONDS = 30,
} = process.env;

async function sum({ payload }) {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(payload.path), hash);
  } catch (error) {
    throw new Nack(error.message, { retry: false });
  }
  return { sha256: hash.digest('hex') };
}

const worker = new Worker(
  new Client({ url }),
  { queues: [QUEUE], leaseSeconds: Number(LEASE_SECONDS), name },
  sum,
);
await worker.runUntilSignal();
