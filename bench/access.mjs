// #19: the cycle with access keys, against the cycle without.
import { benchmark } from './lib/bench.mjs';
import { cpuSecondsOf } from './lib/cpu.mjs';
import { fill, jobText, READY } from './lib/jobs.mjs';
import { settle } from './lib/postgres.mjs';
import { startReplica } from './lib/service.mjs';
import { median } from './lib/stats.mjs';
import { cycle } from './lib/wrk.mjs';

const QUEUE = 'bench';
/** Keys may cost 3 %. */
const AT_LEAST = 0.97;

/** Other keys that the replica has in memory. */
const OTHERS = 100;

async function createKey(base, fields, key) {
  const response = await fetch(`${base}/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) },
    body: JSON.stringify(fields),
  });
  if (response.status !== 201) throw new Error(await response.text());
  return (await response.json()).key;
}

await benchmark(
  {
    name: 'access',
    title: 'The cycle with access keys against the cycle without',
    full: { rounds: 7, seconds: 10, connections: [64, 256] },
    short: { rounds: 3, seconds: 2 },
    maxSeconds: 3600,
  },
  async ({ options: { rounds, seconds, connections }, postgres, report }) => {
    const job = jobText(QUEUE);
    async function start(name) {
      const url = await postgres.database(`dibs_${name}`);
      const replica = await startReplica(url);
      await fill(replica.url, READY, job);
      return { url, base: replica.url, pid: replica.pid };
    }
    const open = await start('open');
    const closed = await start('closed');
    const admin = await createKey(closed.base, { name: 'admin', scopes: ['admin'] });
    for (let i = 0; i < OTHERS; i++)
      await createKey(closed.base, { name: `other ${i}`, scopes: ['read'] }, admin);
    const scopes = ['produce', 'consume'];
    const narrow = await createKey(closed.base, { name: 'narrow', scopes, queues: [`${QUEUE}*`] }, admin);
    const wide = await createKey(closed.base, { name: 'wide', scopes }, admin);
    const sides = [
      { name: 'no key', ...open },
      { name: 'a key for all queues', ...closed, key: wide },
      { name: 'a key for one queue', ...closed, key: narrow },
    ];

    async function measure({ base, pid, key }, c) {
      const before = cpuSecondsOf(pid);
      const { cycles, trouble } = await cycle(base, QUEUE, job, { connections: c, seconds, key });
      return { cycles, trouble, cpu: ((cpuSecondsOf(pid) - before) * 1e6) / (cycles * seconds) };
    }

    for (const side of sides)
      await cycle(side.base, QUEUE, job, { connections: 64, seconds: 2, key: side.key });
    for (const c of connections) {
      const [, ...withKeys] = sides;
      const ratios = new Map(withKeys.map(({ name }) => [name, { cycles: [], cpu: [] }]));
      const rows = [];
      for (let round = 1; round <= rounds; round++) {
        const order = round % 2 ? sides : sides.toReversed();
        const found = {};
        for (const side of order) {
          await settle(side.url);
          found[side.name] = await measure(side, c);
        }
        const free = found['no key'];
        for (const [name, { cycles, cpu }] of ratios) {
          cycles.push(found[name].cycles / free.cycles);
          cpu.push(found[name].cpu / free.cpu);
        }
        const notes = Object.entries(found).map(([name, { trouble }]) => trouble && `${name}: ${trouble}`);
        rows.push([
          round,
          ...sides.map(({ name }) => found[name].cycles),
          ...[...ratios.values()].map(({ cpu }) => cpu.at(-1)),
          notes.filter(Boolean).join('; '),
        ]);
      }
      const head = [
        'round',
        ...sides.map(({ name }) => name),
        ...withKeys.map(({ name }) => `CPU, ${name}`),
        'notes',
      ];
      report.table(
        `Cycles/s at ${c} connections, and CPU time of the service for each against no key:`,
        head,
        rows,
      );
      for (const [name, { cycles, cpu }] of ratios)
        report.line({
          number: 19,
          what: `cycles/s at ${c} connections with ${name}; CPU time ${median(cpu).toFixed(3)}`,
          against: 'no key',
          value: median(cycles),
          atLeast: AT_LEAST,
        });
    }
  },
);
