// #13: bytes/s of payloads of three sizes against COPY of the same, and small jobs beside large payloads.
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { drain, jobText, leaseOf, times } from './lib/jobs.mjs';
import { paced, pacedTrouble } from './lib/paced.mjs';
import { connectionEnv } from './lib/pgbench.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';
import { run } from './lib/wrk.mjs';

const MOST_BODY = 4 * 2 ** 20;

/** A JSON string of this number of bytes that does not compress well. */
const payloadOf = (bytes) =>
  JSON.stringify(
    randomBytes(bytes)
      .toString('base64url')
      .slice(0, bytes - 2),
  );

/** Enqueues in batches of up to 4 MiB, then claims and acks all jobs. Returns the MB/s of both. */
async function overHttp(base, payload, count, queue) {
  const perBatch = Math.max(1, Math.min(1000, Math.floor(MOST_BODY / payload.length)));
  const batch = `{"jobs":[${Array(perBatch).fill(jobText(queue, { payload })).join(',')}]}`;
  const batches = Math.ceil(count / perBatch);
  const http = client(base, 4);
  const megabytes = (batches * perBatch * payload.length) / 1e6;
  const started = performance.now();
  await times(batches, 4, () => http.post('/jobs/batch', batch));
  const enqueued = performance.now();
  const drained = await drain(base, queue, {
    each: (jobs, on) => on.post('/jobs/settle', { acks: jobs.map(leaseOf) }),
  });
  if (drained !== batches * perBatch) throw new Error(`${drained} of ${batches * perBatch} came back`);
  const ended = performance.now();
  http.close();
  return {
    enqueue: megabytes / ((enqueued - started) / 1000),
    drain: megabytes / ((ended - enqueued) / 1000),
  };
}

/** MB/s of the database's own COPY of the same texts into a table of json, through psql. */
async function copy(url, payload, count) {
  await query(url, 'truncate payloads');
  const rows = Math.max(1, Math.floor(MOST_BODY / payload.length));
  const chunk = `${payload}\n`.repeat(rows);
  const chunks = Math.ceil(count / rows);
  const input = Readable.from(Array(chunks).fill(chunk));
  const started = performance.now();
  await run('psql', ['-X', '-q', '-c', 'copy payloads from stdin'], {
    seconds: 300,
    env: connectionEnv(url),
    input,
  });
  return (chunks * rows * payload.length) / 1e6 / ((performance.now() - started) / 1000);
}

await benchmark(
  {
    name: 'payloads',
    title: 'Payloads, small and large',
    full: { rounds: 5, sizes: [100, 10_000, 1_048_576], megabytes: 100, rate: 300, large: 5, seconds: 20 },
    short: { rounds: 1, megabytes: 10, seconds: 5 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, sizes, megabytes, rate, large, seconds }, postgres, report }) => {
    const url = await postgres.database('dibs_payloads');
    const plain = await postgres.database('plain_payloads');
    await query(plain, 'create table payloads (payload json not null)');
    const { url: base } = await startReplica(url);

    const found = new Map(sizes.map((size) => [size, { enqueue: [], drain: [], copy: [] }]));
    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const size of sizes) {
        const payload = payloadOf(size);
        // Small jobs cost by their number, not by their bytes: 50,000 are enough.
        const count = Math.ceil(Math.min((megabytes * 1e6) / size, 50_000));
        await settle(url);
        const { enqueue, drain: drained } = await overHttp(base, payload, count, `size.${size}`);
        const copied = await copy(plain, payload, count);
        for (const [name, value] of Object.entries({ enqueue, drain: drained, copy: copied }))
          found.get(size)[name].push(value);
        rows.push([round, size, count, enqueue, drained, copied]);
      }
    report.table(
      'MB/s of payload (batches over 4 connections; claims of 1000 with their acks; psql COPY):',
      ['round', 'bytes', 'jobs', 'enqueue', 'claim and ack', 'COPY'],
      rows,
    );
    for (const [size, { enqueue, copy: copied }] of found)
      report.line({
        number: 13,
        what: `payloads of ${size} B, enqueued: share of COPY's bytes/s`,
        against: `COPY: ${median(copied).toFixed(1)} MB/s; enqueue: ${median(enqueue).toFixed(1)} MB/s`,
        value: median(enqueue) / median(copied),
      });

    // Enough connections that no request waits in the client.
    const small = client(base, 64);
    const big = client(base, 4);
    const bigJob = jobText('mixed', { payload: payloadOf(2 ** 20) });

    /**
     * Enqueues small jobs at a steady rate, with or without a few large jobs a second in the same queue.
     * Returns their ms.
     */
    async function steady(withLarge) {
      const took = [];
      const outcome = paced({ rate, seconds }, async () => {
        const { ms } = await small.post('/jobs', jobText('mixed'));
        took.push(ms);
      });
      const others = withLarge ? paced({ rate: large, seconds }, () => big.post('/jobs', bigJob)) : undefined;
      const trouble = [pacedTrouble(await outcome), others && pacedTrouble(await others)]
        .filter(Boolean)
        .join('; ');
      await drain(base, 'mixed', {
        each: (jobs, on) => on.post('/jobs/settle', { acks: jobs.map(leaseOf) }),
      });
      return { took, trouble };
    }
    const tails = { without: [], with: [] };
    const tailRows = [];
    await steady(false);
    for (let round = 1; round <= rounds; round++)
      for (const side of ['without', 'with']) {
        await settle(url);
        const { took, trouble } = await steady(side === 'with');
        tails[side].push(p99(took));
        tailRows.push([round, side, took.length, p50(took), p99(took), Math.max(...took), trouble]);
      }
    small.close();
    big.close();
    report.table(
      `Enqueues of small jobs at ${rate}/s, ms, without and with ${large} jobs of 1 MiB a second in the same queue:`,
      ['round', 'large jobs', 'enqueues', 'p50', 'p99', 'max', 'notes'],
      tailRows,
    );
    report.line({
      number: 13,
      what: `p99 of small enqueues beside large payloads: ${median(tails.with).toFixed(2)} ms`,
      against: `without them: ${median(tails.without).toFixed(2)} ms`,
      value: median(tails.with) / median(tails.without),
      atMost: 2,
    });
  },
);
