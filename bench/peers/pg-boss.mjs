// pg-boss, set by https://pgboss.io (api/constructor, api/queues, api/jobs, api/workers).
import { PgBoss } from 'pg-boss';
import { loops } from './measure.mjs';

// The best of the values tried here: see README.md.
const POOL = 32;
const WORKERS = { 1: 32, 100: 16 };

export const settings =
  `pool \`max\` ${POOL}; one at a time and in batches: \`fetch({ batchSize })\` and \`complete(ids)\` in ${WORKERS[1]} and ` +
  `${WORKERS[100]} loops; \`insert([])\`; wake-up: \`useListenNotify\` and the queue's \`notify\``;

export async function open({ url, data }) {
  const boss = new PgBoss({
    connectionString: url,
    // `max`: size of the pool, by default 10.
    max: POOL,
    // `useListenNotify`: "workers on notify-enabled queues are woken the moment a job is created".
    useListenNotify: true,
    // `schedule`: cron monitoring, not used here.
    schedule: false,
  });
  boss.on('error', (error) => process.stderr.write(`pg-boss: ${error.message}\n`));
  await boss.start();
  // No `notify` on the queue for throughput: each NOTIFY takes a lock over the whole database at commit.
  await boss.createQueue('bench');
  await boss.createQueue('wake', { notify: true });

  return {
    producers: { 1: 64, 100: 32, 1000: 16 },
    add: () => boss.send('bench', data),
    // `insert(name, jobs)`: many jobs in one statement.
    addMany: (count) => boss.insert('bench', Array(count).fill({ data })),

    // work() waits `pollingIntervalSeconds` (0.5 or more) between single jobs, unlike fetch() and complete().
    drain: (size) => (done) =>
      loops(WORKERS[size], async () => {
        const jobs = await boss.fetch('bench', { batchSize: size });
        if (jobs.length === 0) return 0;
        const ids = jobs.map(({ id }) => id);
        await boss.complete('bench', ids);
        done(ids.length);
        return ids.length;
      }),

    async waker(started) {
      await boss.work('wake', { pollingIntervalSeconds: 2 }, async () => started());
      return { add: () => boss.send('wake', data), stop: () => boss.offWork('wake', { wait: true }) };
    },

    close: () => boss.stop({ graceful: false }),
  };
}
