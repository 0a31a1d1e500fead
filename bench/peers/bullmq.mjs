// BullMQ, set by its documentation at https://docs.bullmq.io (guide/going-to-production,
// guide/workers/concurrency, guide/queues/adding-bulks, guide/queues/auto-removal-of-jobs, guide/postgresql).
import { createPostgresBackend, Queue, Worker } from 'bullmq';

// The best of the values tried here: see README.md.
const CONCURRENCY = { redis: 500, postgres: 32 };
const POOL = 16;

const common = '`addBulk([])`, `removeOnComplete`; no batches for workers but in BullMQ Pro';
export const settings = `\`concurrency\` ${CONCURRENCY.redis}; ${common}`;
export const postgresSettings = `\`createPostgresBackend\`, pool \`max\` ${POOL}, \`concurrency\` ${CONCURRENCY.postgres}; ${common}`;

export async function open({ url, data }) {
  const isRedis = url.startsWith('redis:');
  const { hostname, port } = new URL(url);
  // A Worker demands `maxRetriesPerRequest: null`. `migrate` makes the tables.
  const connection = isRedis
    ? { host: hostname, port: Number(port), maxRetriesPerRequest: null }
    : { connectionString: url, max: POOL, migrate: true };
  const backend = isRedis ? [] : [createPostgresBackend];
  const open = (name) =>
    // `removeOnComplete`: a done job is deleted, as other libraries do.
    new Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } }, ...backend);
  const queue = open('bench');
  await queue.waitUntilReady();
  const work = async (name, concurrency, process) => {
    // `concurrency`: "amount of jobs that a single worker is allowed to work on in parallel".
    const worker = new Worker(name, process, { connection, concurrency }, ...backend);
    worker.on('error', (error) => globalThis.process.stderr.write(`BullMQ: ${error.message}\n`));
    await worker.waitUntilReady();
    return worker;
  };

  return {
    producers: { 1: 64, 100: 8, 1000: 8 },
    add: () => queue.add('bench', data),
    addMany: (count) => queue.addBulk(Array(count).fill({ name: 'bench', data })),

    // Only BullMQ Pro has batches for workers. A worker gets its next job in the answer to its last one.
    drain: (size) =>
      size === 1 &&
      (async (done) => {
        const concurrency = CONCURRENCY[isRedis ? 'redis' : 'postgres'];
        const worker = await work('bench', concurrency, async () => undefined);
        worker.on('completed', () => done(1));
        return () => worker.close();
      }),

    async waker(started) {
      const wake = open('wake');
      const worker = await work('wake', 1, async () => started());
      return {
        add: () => wake.add('wake', data),
        stop: async () => {
          await worker.close();
          await wake.close();
        },
      };
    },

    close: () => queue.close(),
  };
}
