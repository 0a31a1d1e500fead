// Attacks a replica in every way that points 4 and 5 of its promises name, and prints what it costs.
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { benchmark } from '../lib/bench.mjs';
import { startReplica } from '../lib/service.mjs';
import { p50, p99 } from '../lib/stats.mjs';
import { FREEZES, LOCKS, MEMORY } from './attacks.mjs';
import { HANGUPS } from './hangups.mjs';
import { READS } from './reads.mjs';

const PROBE = new URL('./probe.mjs', import.meta.url).href;
const NEIGHBOUR = fileURLToPath(new URL('./neighbour.mjs', import.meta.url));
const IDLE_MS = 2000;
const SAMPLE_MS = 20;
/** Above the budget and the memory of an idle replica. */
const ALLOWED_MB = 150;
const ALLOWED_P99_MS = 100;
const ALLOWED_DELAY_MS = 50;
/** After an attack, what was taken for its requests is given back within this time. */
const GIVEN_BACK_MS = 10_000;

async function probed(replica) {
  const heard = once(replica.child, 'message');
  replica.child.send('tell');
  const [told] = await heard;
  return told;
}

async function besideNeighbour(url, work) {
  const worker = new Worker(NEIGHBOUR, { workerData: { url, queue: 'neighbour' } });
  await sleep(1000);
  const result = await work();
  worker.postMessage('stop');
  const [neighbour] = await once(worker, 'message');
  return { ...result, ...neighbour };
}

/** What a replica holds for requests, once nobody asks it any more: the numbers of its ledger that are not 0. */
async function stillHeld(url) {
  const until = performance.now() + GIVEN_BACK_MS;
  for (;;) {
    const text = await (await fetch(`${url}/metrics`)).text();
    const held = text.match(/^dibs_(held|memory_held_bytes)\{.* [^0].*$/gm) ?? [];
    if (held.length === 0 || performance.now() > until) return held;
    await sleep(100);
  }
}

/** Runs one attack on a replica of its own, because a process does not give memory back at once. */
async function attack(databaseUrl, budget, { prepare, run }) {
  let replica = await startReplica(databaseUrl);
  await prepare?.(replica.url);
  await replica.stop();
  replica = await startReplica(databaseUrl, { MAX_MEMORY_BYTES: String(budget) }, undefined, PROBE);
  try {
    await sleep(IDLE_MS);
    const idle = replica.memory();
    let most = idle;
    const timer = setInterval(() => {
      most = Math.max(most, replica.memory());
    }, SAMPLE_MS);
    const found = await besideNeighbour(replica.url, async () => {
      await probed(replica);
      const result = await run(replica.url, databaseUrl);
      return { ...result, ...(await probed(replica)) };
    });
    clearInterval(timer);
    const held = await stillHeld(replica.url);
    return { ...found, held, idle, most, complaints: replica.complaints };
  } finally {
    await replica.stop();
  }
}

await benchmark(
  {
    name: 'attack/run',
    title: 'Attacks',
    full: { budget: 256 * 2 ** 20, only: '' },
    short: {},
    maxSeconds: 3600,
  },
  async ({ options: { budget, only }, postgres, report }) => {
    let count = 0;
    for (const [title, attacks] of Object.entries({
      Memory: MEMORY,
      'Hang-ups': HANGUPS,
      Locks: LOCKS,
      'One body': FREEZES,
      Reads: READS,
    })) {
      const rows = [];
      for (const [name, how] of Object.entries(attacks)) {
        if (!name.includes(only)) continue;
        const database = `dibs_attack_${count++}`;
        const found = await attack(await postgres.database(database), budget, how);
        await postgres.drop(database);
        const { requests, answers, idle, most, times, failures, maxMs, held, complaints } = found;
        const misses = [
          most - idle > budget / 1e6 + ALLOWED_MB && 'memory',
          (p99(times) > ALLOWED_P99_MS || Object.keys(failures).length > 0) && 'neighbours',
          maxMs > ALLOWED_DELAY_MS && 'event loop',
          held.length > 0 && 'held',
        ].filter(Boolean);
        rows.push([
          name,
          requests,
          answers,
          Math.round(idle),
          Math.round(most - idle),
          ...[p50(times), p99(times), Math.max(...times), maxMs].map((ms) => Math.round(ms)),
          misses.join() || 'held',
        ]);
        process.stderr.write(`${rows.at(-1).join(' | ')}\n`);
        if (Object.keys(failures).length > 0)
          process.stderr.write(`  neighbours: ${JSON.stringify(failures)}\n`);
        for (const line of held) process.stderr.write(`  still held: ${line}\n`);
        for (const line of complaints) process.stderr.write(`  ${line.slice(0, 300)}\n`);
      }
      if (rows.length > 0)
        report.table(
          `${title}: resident memory in MB (VmRSS), the neighbours' calls and the event loop in ms. Allowed: ` +
            `${Math.round(budget / 1e6 + ALLOWED_MB)} MB above idle, p99 ${ALLOWED_P99_MS} ms, ${ALLOWED_DELAY_MS} ms.`,
          [
            'attack',
            'requests',
            'answers',
            'idle',
            'above idle',
            'p50',
            'p99',
            'longest',
            'event loop',
            'bounds',
          ],
          rows,
        );
    }
  },
);
