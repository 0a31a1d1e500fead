// #27: how long 3,000 groups of as many queues that lose their heads at once wait for new ones, and claims beside them.
//   node bench/lostHeads.mjs [--old /path/to/other/checkout] [--rounds N] [--queues N]
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { jobText } from './lib/jobs.mjs';
import { query, settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

/** Queues with a group each: its head, and a job behind it for each round. */
const FILL = `
  with made as (
    insert into dibs.queues (name) select 'crowd-' || n from generate_series(1, $1::integer) n returning id
  )
  insert into dibs.jobs
    (queue_id, id, state, is_head, run_at, priority, max_attempts, payload_bytes, headers, payload, group_key)
  select id, gen_random_uuid(), (case when nth = 0 then 'ready' else 'blocked' end)::dibs.job_state, nth = 0, now(),
    0, 5, 1, '{}', '1', 'g'
  from made cross join generate_series(0, $2::integer) nth
`;
/** As after the crash of a replica that was about to advance all of these groups. */
const LOSE = `
  update dibs.jobs set state = 'dead', is_head = false, finished_at = now()
  where is_head and queue_id in (select id from dibs.queues where name like 'crowd-%')
`;
const HEADS = `
  select count(*)::integer as count
  from dibs.jobs where group_key is not null and dibs.by_index(is_head)
`;
const REST_MS = 2000;

await benchmark(
  {
    name: 'lostHeads',
    title: 'Thousands of queues whose groups lose their heads at once',
    full: { rounds: 5, queues: 3000, old: '' },
    short: { rounds: 2 },
    maxSeconds: 900,
  },
  async ({ options, postgres, report }) => {
    const { rounds, queues, old } = options;
    const sides = [{ name: 'new', key: 'here', main: undefined }];
    if (old) sides.push({ name: 'old', key: 'old', main: resolve(old, 'dist/main.js') });
    for (const side of sides) {
      side.url = await postgres.database(`dibs_${side.key}`);
      side.base = (await startReplica(side.url, {}, side.main)).url;
      side.found = { mended: [], alone: [], beside: [] };
      await query(side.url, FILL, [queues, rounds]);
    }

    /** Claims and acks in another queue until it is told to stop. Returns how long each claim took, in ms. */
    function work(side) {
      const http = client(side.base);
      let isOver = false;
      const seen = (async () => {
        const took = [];
        while (!isOver) {
          await http.post('/jobs', jobText('beside'));
          const { body, ms } = await http.post('/jobs/claim', { queues: ['beside'] });
          took.push(ms);
          for (const { id, lease_token } of body.jobs) await http.post(`/jobs/${id}/ack`, { lease_token });
        }
        http.close();
        return took;
      })();
      return () => {
        isOver = true;
        return seen;
      };
    }

    /** Waits until each group has a head. */
    async function mended(side) {
      const started = performance.now();
      while ((await query(side.url, HEADS))[0].count < queues) await sleep(20);
      return performance.now() - started;
    }

    const rows = [];
    for (let round = 1; round <= rounds; round++)
      for (const side of round % 2 ? sides : sides.toReversed()) {
        await settle(side.url);
        const alone = work(side);
        await sleep(REST_MS);
        side.found.alone.push(...(await alone()));
        await query(side.url, LOSE);
        const beside = work(side);
        side.found.mended.push(await mended(side));
        const took = await beside();
        side.found.beside.push(...took);
        rows.push([round, side.name, side.found.mended.at(-1), p50(took), p99(took)]);
      }

    report.table(
      `${queues} groups of as many queues, ms:`,
      ['round', 'build', 'all have heads', 'claim p50 meanwhile', 'claim p99 meanwhile'],
      rows,
    );
    for (const { name, found } of sides) {
      report.line({
        number: 27,
        what: `${name}: all groups have heads, slowest round: ${Math.max(...found.mended).toFixed(0)} ms (median ${median(found.mended).toFixed(0)})`,
        against: 'promised: 2,000 ms',
        value: Math.max(...found.mended) / 2000,
        ...(name === 'new' ? { atMost: 1 } : {}),
      });
      report.line({
        number: 27,
        what: `${name}: claim p50 meanwhile: ${p50(found.beside).toFixed(2)} ms, p99 ${p99(found.beside).toFixed(1)}`,
        against: `alone: ${p50(found.alone).toFixed(2)} ms, p99 ${p99(found.alone).toFixed(1)}`,
        value: p99(found.beside) / p99(found.alone),
      });
    }
  },
);
