// #11: resident memory of a replica: idle, under the mixed cycle, and with thousands of waiting claims.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';

/** The highest memory until `work` ends. */
async function peakDuring(replica, work) {
  let most = replica.memory();
  const timer = setInterval(() => {
    most = Math.max(most, replica.memory());
  }, 100);
  await work.finally(() => clearInterval(timer));
  return most;
}

await benchmark(
  {
    name: 'memory',
    title: 'Memory of a replica',
    full: { rounds: 5, idle: 10, seconds: 30, connections: [64, 256], waiting: 5000 },
    short: { rounds: 1, idle: 3, seconds: 4 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, idle, seconds, connections, waiting }, postgres, report }) => {
    const url = await postgres.database('dibs_memory');

    /** Runs `work` on a replica of its own, because a process does not give memory back at once. */
    async function fresh(work) {
      const replica = await startReplica(url);
      try {
        return await work(replica);
      } finally {
        await replica.stop();
      }
    }

    async function withWaiting(replica) {
      const http = client(replica.url, waiting);
      const wish = { queues: ['empty'], wait_seconds: 60 };
      const early = [];
      let closing = false;
      for (let i = 0; i < waiting; i++)
        http.call('POST', '/jobs/claim', wish).then(
          ({ status, text }) => early.push(`${status} ${text}`),
          (error) => closing || early.push(error.message),
        );
      const most = await peakDuring(replica, sleep(1000 * (idle + 5)));
      closing = true;
      http.close();
      if (early.length > 0) throw new Error(`${early.length} claims did not wait: ${early[0]}`);
      return most;
    }

    const kinds = {
      idle: { atMost: 120, measure: (replica) => peakDuring(replica, sleep(idle * 1000)) },
      ...Object.fromEntries(
        connections.map((c) => [
          `cycling at ${c} connections`,
          {
            atMost: 200,
            async measure(replica) {
              await fill(replica.url, READY, jobText(QUEUE));
              return peakDuring(
                replica,
                cycle(replica.url, QUEUE, jobText(QUEUE), { connections: c, seconds }),
              );
            },
          },
        ]),
      ),
      [`${waiting} claims waiting`]: { atMost: 300, measure: withWaiting },
    };
    const found = new Map(Object.keys(kinds).map((kind) => [kind, []]));
    for (let round = 1; round <= rounds; round++)
      for (const [kind, { measure }] of Object.entries(kinds)) found.get(kind).push(await fresh(measure));

    report.table(
      'Resident memory (VmRSS), the highest seen, MB:',
      ['round', ...found.keys()],
      Array.from({ length: rounds }, (_, i) => [i + 1, ...[...found.values()].map((values) => values[i])]),
    );
    for (const [kind, { atMost }] of Object.entries(kinds))
      report.line({
        number: 11,
        what: `memory, ${kind}`,
        value: median(found.get(kind)),
        unit: ' MB',
        atMost,
      });
  },
);
