// #34: how late is what falls due while all replicas rest, also when the replica is killed that would have looked.
//   node bench/due.mjs [--rounds 20] [--rest 12] [--kills none,before,at] [--main /path/to/other/dist/main.js]
// `before`: killed 100 ms before something is due. `at`: killed as soon as it has told that something is due now.
// `--rest 320` measures replicas that sleep.
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { benchmark } from './lib/bench.mjs';
import { DUE_KINDS } from './lib/dueKinds.mjs';
import { client } from './lib/http.mjs';
import { times } from './lib/jobs.mjs';
import { namedUrl, watchLooks } from './lib/looks.mjs';
import { startReplica } from './lib/service.mjs';
import { p50 } from './lib/stats.mjs';

/** So many replicas are left when one was killed for each kind. */
const LEFT = 2;
/** From the time at which one thing is due to that of the next one. */
const APART_SECONDS = 3;
/** This long before something is due, the replica is killed that would have looked. */
const KILLED_MS = 100;
/** A claim begins to wait this long before its job is due. A kill is prepared by then. */
const WAITS_MS = 1500;
/** What has not come by then does not come. */
const LOST_MS = 20_000;

/** The same as a job whose `run_at` comes. But a claim waits for it, and its answer counts. */
const CLAIMED = 'a run_at comes, and a claim waits';
const KINDS = { ...DUE_KINDS, [CLAIMED]: DUE_KINDS['a run_at comes'] };

/** The replicas of a database, each with its name. */
async function startReplicas(url, main) {
  const alive = new Map();
  let number = 0;
  async function start() {
    const name = `replica ${++number}`;
    alive.set(name, await startReplica(namedUrl(url, name), {}, main));
  }
  return {
    alive,
    /** Starts replicas until there are as many. Two at once: more of them would be slow to start. */
    fill: (count) => times(count - alive.size, 2, start),
    kill(name) {
      const replica = alive.get(name);
      if (!replica) return;
      alive.delete(name);
      replica.child.kill('SIGKILL');
    },
  };
}

/** Waits until it is done. Returns how late it was, in ms. */
async function lateness(db, { isDone }, { id, due }) {
  const text = `select ${isDone} as done, extract(epoch from clock_timestamp() - $2::timestamptz)::float8 * 1000 as late`;
  for (;;) {
    const { done, late } = (await db.query(text, [id, due])).rows[0];
    if (done || late > LOST_MS) return done ? late : Number.POSITIVE_INFINITY;
    await sleep(5);
  }
}

/** Claims at a replica that is not killed next. Returns how late its job came, in ms. */
async function claimLate(replica, queue, due) {
  const http = client(replica.url);
  try {
    const { jobs } = (await http.post('/jobs/claim', { queues: [queue], wait_seconds: 30 })).body;
    return jobs.length > 0 ? Date.now() - Date.parse(due) : Number.POSITIVE_INFINITY;
  } finally {
    http.close();
  }
}

await benchmark(
  {
    name: 'due',
    title: 'How late is what falls due while all replicas rest',
    full: { main: '', rounds: 20, rest: 12, kills: 'none,before,at' },
    short: { rounds: 2 },
    maxSeconds: 14_400,
  },
  async ({ options: { main, rounds, rest, kills }, postgres, report }) => {
    const names = Object.keys(KINDS);
    const rows = [];
    for (const kill of kills.split(',')) {
      const url = await postgres.database(`dibs_due_${kill}`);
      const db = new pg.Client(url);
      db.on('error', () => undefined);
      await db.connect();
      /** Is called by the next look that finds something due. */
      let dueNow;
      const looks = await watchLooks(url, (name, inMs) => inMs === 0 && dueNow?.(name));
      const replicas = await startReplicas(url, main === '' ? undefined : resolve(main));
      const late = new Map(names.map((name) => [name, []]));
      let killed = 0;

      async function see(name, queue, made) {
        const hasClaim = name === CLAIMED;
        await sleep(Date.parse(made.due) - Date.now() - WAITS_MS);
        const other = [...replicas.alive].find(([one]) => one !== looks.last())?.[1];
        const claimed = hasClaim && claimLate(other, queue, made.due);
        const end = (looker) => {
          dueNow = undefined;
          // The claim of the bench would end with its replica.
          if (hasClaim && replicas.alive.get(looker) === other) return;
          if (replicas.alive.has(looker)) killed++;
          replicas.kill(looker);
        };
        if (kill === 'at') dueNow = end;
        await sleep(Date.parse(made.due) - Date.now() - KILLED_MS);
        if (kill === 'before') end(looks.last());
        late.get(name).push(await (claimed || lateness(db, KINDS[name], made)));
        dueNow = undefined;
      }

      for (let round = 1; round <= rounds; round++) {
        await replicas.fill(LEFT + (kill === 'none' ? 1 : names.length));
        const http = client([...replicas.alive.values()][0].url);
        const first = Math.ceil(Date.now() / 1000) + rest;
        const made = [];
        for (const [i, name] of names.entries()) {
          const queue = `${name.replaceAll(/\W+/g, '-')}-${round}`;
          const at = new Date((first + i * APART_SECONDS) * 1000);
          made.push([name, queue, await KINDS[name].make({ http, db, queue, at })]);
        }
        http.close();
        for (const one of made) await see(...one);
        process.stdout.write(
          `${kill} ${round}: ${names.map((name) => Math.round(late.get(name).at(-1))).join(' ')} (load average ${loadavg()[0]})\n`,
        );
      }
      for (const [name, ms] of late) rows.push([kill, name, ms.length, p50(ms), Math.max(...ms)]);
      report.say(`${kill}: ${killed} replicas were killed.`);
      for (const name of [...replicas.alive.keys()]) replicas.kill(name);
      await looks.close();
      await db.end();
    }
    report.table(
      'Late by, in ms:',
      ['the replica that would have looked is killed', 'what', 'times', 'p50', 'max'],
      rows,
    );
    const of = (kinds) => rows.filter(([, name]) => kinds.includes(name));
    report.line({
      number: 34,
      what: 'the latest rescue of a lease',
      value: Math.max(...of(['a lease ends']).map((row) => row[4])),
      unit: ' ms',
      atMost: 1000,
    });
    report.line({
      number: 34,
      what: 'delays and expiries, the highest p50',
      value: Math.max(...of(['a run_at comes', 'a job expires']).map((row) => row[3])),
      unit: ' ms',
      atMost: 300,
    });
  },
);
