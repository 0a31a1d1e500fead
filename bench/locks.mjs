// #32: the calls of a neighbour beside clients that wait for what an open transaction holds, against alone.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { besideTransaction, flood, LOCKED } from './lib/locks.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const PAUSE_MS = 5;
/** Beside the flood, the neighbour's calls may take so many times as long as alone, at p99. */
const ALLOWED = 3;

/** Another client, in a queue of its own: calls that may meet a lock, and calls that may not. Returns the times of its calls. */
async function neighbour(http, seconds) {
  const queue = 'neighbour';
  const times = [];
  let n = Math.random();
  const timed = async (path, body, more) => {
    const { ms, body: answer } = await http.post(path, body, more);
    times.push(ms);
    return answer;
  };
  for (const until = performance.now() + seconds * 1000; performance.now() < until; ) {
    const key = `k${n++}`;
    await timed('/jobs', { queue });
    await timed('/jobs', { queue, unique_key: key });
    await timed('/jobs', { queue, unique_key: `${key} once` }, { 'idempotency-key': key });
    const { jobs } = await timed('/jobs/claim', { queues: [queue], limit: 4 });
    for (const [i, { id, lease_token }] of jobs.entries()) {
      const enqueue = i === 0 ? [{ queue, unique_key: `${key} next` }] : undefined;
      await timed(`/jobs/${id}/ack`, { lease_token, enqueue });
    }
    await sleep(PAUSE_MS);
  }
  return times;
}

await benchmark(
  {
    name: 'locks',
    title: 'A neighbour beside calls that wait for locks',
    full: { rounds: 5, seconds: 4, clients: 30, only: '' },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, clients, only }, postgres, report }) => {
    const databaseUrl = await postgres.database('dibs_locks');
    const { url } = await startReplica(databaseUrl);
    const http = client(url);
    const others = client(url, clients);
    await neighbour(http, seconds);
    const kinds = Object.entries(LOCKED).map(([name, kind]) => [name, [kind]]);
    kinds.push(['all of these together', Object.values(LOCKED)]);
    const rows = [];
    let queues = 0;
    for (const [name, prepare] of kinds.filter(([name]) => name.includes(only))) {
      const found = { p50: [], p99: [], alone: [], ratio: [] };
      let answers;
      for (let round = 0; round < rounds; round++) {
        const alone = await neighbour(http, seconds);
        const times = await besideTransaction(databaseUrl, async (user) => {
          const calls = [];
          for (const kind of prepare) calls.push(await kind(others, user, `held.${queues++}`));
          const flooded = flood(calls, clients, seconds + 1);
          await sleep(500);
          const times = await neighbour(http, seconds);
          answers = await flooded;
          return times;
        });
        found.alone.push(p99(alone));
        found.p50.push(p50(times));
        found.p99.push(p99(times));
        found.ratio.push(p99(times) / p99(alone));
      }
      const ratio = median(found.ratio);
      rows.push([
        name,
        JSON.stringify(answers).replaceAll(/["{}]/g, ''),
        ...[found.alone, found.p50, found.p99].map((ms) => median(ms).toFixed(1)),
        ratio.toFixed(2),
        ratio <= ALLOWED ? 'held' : 'missed',
      ]);
      process.stderr.write(`${rows.at(-1).join(' | ')}\n`);
    }
    http.close();
    others.close();
    report.table(
      `${clients} clients wait, each call for what an open transaction holds. The neighbour's calls in ms, medians of ${rounds} ` +
        `rounds; p99 may be ${ALLOWED} times that of alone, in the same round.`,
      ['what the clients call', 'their answers', 'p99 alone', 'p50', 'p99', 'p99 / alone', 'bound'],
      rows,
    );
  },
);
