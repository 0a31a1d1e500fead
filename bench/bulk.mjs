// #10: claims of a steady load while many leases run out at once and a purge and a redrive run, against
// claims without.
import { setTimeout as sleep } from 'node:timers/promises';
import { benchmark } from './lib/bench.mjs';
import { client } from './lib/http.mjs';
import { drain, fill, jobText, leaseOf, READY } from './lib/jobs.mjs';
import { paced, pacedTrouble } from './lib/paced.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median, p50, p99 } from './lib/stats.mjs';

const QUEUE = 'steady';
const LONGEST_S = 600;

await benchmark(
  {
    name: 'bulk',
    title: 'A steady load while bulk work runs',
    full: { rounds: 5, rate: 300, seconds: 20, leases: 200_000, purge: 1_000_000, redrive: 1_000_000 },
    short: { rounds: 1, seconds: 5, leases: 10_000, purge: 40_000, redrive: 40_000 },
    maxSeconds: 3 * 3600,
  },
  async ({ options, postgres, report }) => {
    const { rounds, rate, seconds } = options;
    const url = await postgres.database('dibs_bulk');
    const { url: base } = await startReplica(url);
    const http = client(base, 64);
    const admin = client(base, 4, LONGEST_S * 1000);
    await fill(base, READY, jobText(QUEUE));

    /** Enqueues, claims and acks at a steady rate. Returns the times of the claims in ms. */
    async function steady(bounds) {
      const times = [];
      const outcome = await paced({ rate, ...bounds }, async () => {
        await http.post('/jobs', jobText(QUEUE));
        const { ms, body } = await http.post('/jobs/claim', { queues: [QUEUE] });
        times.push(ms);
        for (const job of body.jobs) await http.post(`/jobs/${job.id}/ack`, { lease_token: job.lease_token });
      });
      return { times, trouble: pacedTrouble(outcome) };
    }

    /** Puts dead jobs into one queue, and ready jobs into two others. */
    async function prepare(round) {
      await fill(base, options.redrive, jobText(`dead.${round}`));
      await drain(base, `dead.${round}`, {
        lease_seconds: () => 600,
        each: (jobs, on) =>
          on.post('/jobs/settle', {
            nacks: jobs.map((job) => ({ ...leaseOf(job), retry: false, error: 'no' })),
          }),
      });
      await fill(base, options.purge, jobText(`purged.${round}`));
      await fill(base, options.leases, jobText(`leased.${round}`));
      await settle(url);
    }

    /** Leases jobs so that all leases run out at the returned time, after the end of the undisturbed load. */
    async function lease(round) {
      const expiry = performance.now() + 10_000 + options.leases / 10 + 1100 * seconds;
      await drain(base, `leased.${round}`, { lease_seconds: () => (expiry - performance.now()) / 1000 });
      return expiry;
    }

    async function rescued(round) {
      for (let tries = LONGEST_S; tries > 0; tries--) {
        const { counts } = (await admin.json('GET', `/queues/leased.${round}`)).body;
        if (counts.leased === 0) return;
        await sleep(1000);
      }
      throw new Error(`the leases were not rescued within ${LONGEST_S} s`);
    }

    /** Purges, redrives and waits for the rescue, all at once. Returns the time of each. */
    async function bulk(round) {
      const started = performance.now();
      const since = () => (performance.now() - started) / 1000;
      const verb = (path, body) =>
        admin.post(path, body).then(({ body }) => ({ count: body.count, seconds: since() }));
      const [purge, redrive, leases] = await Promise.all([
        verb(`/queues/purged.${round}/purge`, { states: ['ready'] }),
        verb(`/queues/dead.${round}/redrive`, {}),
        rescued(round).then(() => ({ seconds: since() })),
      ]);
      return { purge, redrive, leases };
    }

    const found = { without: [], with: [] };
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      await prepare(round);
      const expiry = await lease(round);
      const calm = await steady({ seconds });
      if (performance.now() > expiry)
        throw new Error('leases ran out before the load was over: the machine is too slow');
      await sleep(expiry - performance.now());
      const work = bulk(round);
      const busy = await steady({ until: work, seconds: LONGEST_S });
      const { purge, redrive, leases } = await work;
      if (purge.count !== options.purge || redrive.count !== options.redrive)
        throw new Error(`purged ${purge.count} and redrove ${redrive.count}`);
      found.without.push(p99(calm.times));
      found.with.push(p99(busy.times));
      for (const [name, { times, trouble }] of Object.entries({ without: calm, with: busy }))
        rows.push([round, name, times.length, p50(times), p99(times), Math.max(...times), trouble]);
      report.say(
        `Round ${round}: purged in ${purge.seconds.toFixed(1)} s, redriven in ${redrive.seconds.toFixed(1)} s, ` +
          `leases rescued in ${leases.seconds.toFixed(1)} s.`,
      );
      for (const queue of ['dead', 'purged', 'leased'])
        await admin.json('DELETE', `/queues/${queue}.${round}?force=true`);
    }
    http.close();
    admin.close();
    report.table(
      `Claims at ${rate} cycles/s, ms:`,
      ['round', 'bulk work', 'claims', 'p50', 'p99', 'max', 'notes'],
      rows,
    );
    report.line({
      number: 10,
      what: `claim p99 while ${options.leases} leases run out, ${options.purge} jobs are purged and ${options.redrive} redriven: ${median(found.with).toFixed(2)} ms`,
      against: `without them: ${median(found.without).toFixed(2)} ms`,
      value: median(found.with) / median(found.without),
      atMost: 3,
    });
  },
);
