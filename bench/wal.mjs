// #30: what PostgreSQL writes to its log for a job that is enqueued, claimed and acked, and how many commits it takes.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { query, settle, written } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
const SCRIPTS = { 'three requests': 'cycle', 'two requests': 'settle-cycle' };
/** The first change of each page after a checkpoint is written whole. After this time, most pages have changed. */
const WARM_SECONDS = 3;
/** The server counts commits once a second. */
const COUNTED_MS = 1500;

/** Bytes of pages that were written whole, between two places in the log. */
async function wholePages(url, from, to) {
  const [{ bytes }] = await query(
    url,
    `select sum(fpi_size) as bytes from pg_get_wal_stats('0/0'::pg_lsn + $1::numeric, '0/0'::pg_lsn + $2::numeric)`,
    [from, to],
  );
  return Number(bytes);
}

await benchmark(
  {
    name: 'wal',
    title: 'What PostgreSQL writes for a job',
    full: { rounds: 3, seconds: 10, connections: [64, 256] },
    short: { rounds: 1, seconds: 3 },
    maxSeconds: 900,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const url = await postgres.database('dibs_wal');
    const replica = await startReplica(url);
    const job = jobText(QUEUE);
    await fill(replica.url, READY, job);
    await query(url, 'create extension pg_walinspect');
    await settle(url);
    const rows = [];
    for (const [name, script] of Object.entries(SCRIPTS))
      for (const c of connections) {
        const found = [];
        await cycle(replica.url, QUEUE, job, { connections: c, seconds: WARM_SECONDS, script });
        for (let round = 0; round < rounds; round++) {
          await sleep(COUNTED_MS);
          const before = await written(url);
          const { acked } = await cycle(replica.url, QUEUE, job, { connections: c, seconds, script });
          await sleep(COUNTED_MS);
          const after = await written(url);
          found.push({
            walBytes: (after.walBytes - before.walBytes) / acked,
            pageBytes: (await wholePages(url, before.walBytes, after.walBytes)) / acked,
            commits: (after.commits - before.commits) / acked,
          });
        }
        const [walBytes, pageBytes, commits] = ['walBytes', 'pageBytes', 'commits'].map((what) =>
          median(found.map((of) => of[what])),
        );
        rows.push([name, c, walBytes, pageBytes, commits]);
        report.line({
          number: 30,
          what: `WAL bytes for a job of ${name}, ${c} connections`,
          value: walBytes,
          atMost: 900,
        });
      }
    report.table(
      'For a job, medians:',
      ['cycle of', 'connections', 'WAL bytes', 'of them pages as a whole', 'commits'],
      rows,
    );
  },
);
