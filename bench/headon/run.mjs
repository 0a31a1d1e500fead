// Dibs beside Zizq, Queen and PgQ: one client for all of them, round by round in turns.
//   node bench/headon/run.mjs --sides dibs,zizq,pgq --rounds 5 --seconds 5 --connections 1,8,64,256
import { fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { atEnd, cleanUp, guard, isEnding } from '../lib/cleanup.mjs';
import { describeMachine } from '../lib/machine.mjs';
import { readOptions } from '../lib/options.mjs';
import { openReport } from '../lib/report.mjs';
import { median, show } from '../lib/stats.mjs';
import { CLUSTER, installedBin, startCluster } from './cluster.mjs';

const CLIENT = fileURLToPath(new URL('./client.mjs', import.meta.url));
const MAX_SECONDS = 3 * 3600;
/** Jobs that the killed worker holds. */
const HELD = 10;
/** Until a worker that waits has surely asked for jobs. */
const WAITS_MS = 500;
/** What warms a side up: Node compiles what runs often, and PostgreSQL fills its caches. It is not counted. */
const WARM_UP = { row: 'warm-up', load: 'cycle', connections: 64, size: 1 };
/** Longer than any lease here, and than any side needs to begin or to end a load. */
const LATE_MS = 60_000;
/** From this part of a core on, the client may be what limits a rate. */
const CLIENT_IS_FULL = 0.9;

const FULL = {
  sides: 'dibs,pgq',
  only: 'enqueue,cycle,batch,pickup,kill',
  rounds: 5,
  seconds: 5,
  warm: 1,
  warmFirst: 8,
  connections: [1, 8, 64, 256],
  batches: [100, 1000],
  batchConnections: 8,
  matrix: [1, 10, 100],
  matrixConnections: [10, 50],
  rate: 300,
  places: 32,
  postgres: '',
  dibs: '',
  zizq: 'zizq',
  queen: '../queen/server/bin/queen-server',
};
const SHORT = { rounds: 1, seconds: 2, warmFirst: 3 };

const now = () => performance.timeOrigin + performance.now();
const count = (n) => n.toLocaleString('en-US');

/** What is measured, in the order of the tables. Each row has a load of client.mjs. */
function loadsOf({ only, connections, batches, batchConnections, rate, places, ...options }) {
  const cyclesBy = (size, c) => ({
    row: `cycles by ${count(size)}, ${count(c)} connections`,
    ...{ load: 'cycle', connections: c, size },
  });
  const kinds = {
    enqueue: connections.map((c) => ({
      row: `single enqueues, ${count(c)} connection${c === 1 ? '' : 's'}`,
      load: 'enqueue',
      connections: c,
    })),
    // A cycle over one connection says what enqueue, claim and ack take one after the other: pickup does that, too.
    cycle: connections
      .filter((c) => c > 1)
      .map((c) => ({ row: `cycles, ${count(c)} connections`, load: 'cycle', connections: c, size: 1 })),
    batch: batches.map((size) => cyclesBy(size, batchConnections)),
    matrix: options.matrix.flatMap((size) =>
      options.matrixConnections.map((c) => ({ ...cyclesBy(size, c), isPerCore: true })),
    ),
    pickup: [{ row: `pickup at ${count(rate)}/s`, load: 'pickup', rate, places }],
    kill: [{ row: 'a killed worker', load: 'kill' }],
  };
  return only.split(',').flatMap((kind) => {
    if (!(kind in kinds)) throw new Error(`--only takes ${Object.keys(kinds).join()}, not "${kind}"`);
    return kinds[kind];
  });
}

/** Starts the client for a load, and ends it when it is late. `onMark` hears of its marks. */
function startClient(side, load, onMark = () => undefined) {
  const limitMs = LATE_MS + ((load.warm ?? 0) + (load.seconds ?? 0)) * 1000;
  const child = fork(CLIENT, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  atEnd(() => child.kill('SIGKILL'));
  const found = new Promise((resolve, reject) => {
    const late = setTimeout(() => {
      reject(new Error(`${side.spec}, ${load.load}: not done in ${limitMs / 1000} s`));
      child.kill('SIGKILL');
    }, limitMs);
    child.once('exit', () => clearTimeout(late));
    child.on('message', (message) => {
      if (message.mark) onMark(message);
      else if (message.failed) reject(new Error(`${side.spec}, ${load.load}: ${message.failed}`));
      else resolve(message.found);
    });
    child.once('exit', (code, signal) =>
      reject(new Error(`${side.spec}, ${load.load}: the client ended with ${code ?? signal}`)),
    );
  });
  // Whoever waits for it hears of it. A client that is killed on purpose has nobody who waits.
  found.catch(() => undefined);
  child.send({ ...load, side: side.name, variant: side.variant });
  return { child, found };
}

/** Runs a load on a side, and reads the processor time of its server between the marks of the client. */
async function runLoad(side, running, load, { warm, seconds }) {
  const read = () => [running.cpu(), running.postgresCpu?.() ?? Number.NaN];
  let [before, after, result] = [[], [], undefined];
  const client = startClient(side, { ...load, address: running.address, warm, seconds }, (message) => {
    if (message.mark === 'begin') before = read();
    else [after, result] = [read(), message];
  });
  const found = await client.found;
  const [used, usedByPostgres] = after.map((seconds, i) => seconds - before[i]);
  return {
    ...found,
    rate: result.done / result.seconds,
    cpu: (used * 1e6) / result.done,
    perCore: result.done / used,
    perPostgresCore: result.done / usedByPostgres,
    client: result.client / result.seconds,
  };
}

/**
 * Kills a worker with its jobs. Another process waits for them, or asks from then on where a side has one worker at a
 * time.
 */
async function runKill(side, { address }) {
  const load = { address, queue: 'killed', jobs: HELD, waitsForGo: side.hasOneWorker };
  const start = async (name) => {
    let reached;
    const ready = new Promise((resolve) => {
      reached = resolve;
    });
    const client = startClient(side, { ...load, load: name }, reached);
    await Promise.race([ready, client.found]);
    return client;
  };
  const holder = await start('hold');
  const other = await start('take');
  await sleep(WAITS_MS);
  const killedAt = now();
  holder.child.kill('SIGKILL');
  other.child.send('go');
  const { first, last } = await other.found;
  return { first: first - killedAt, last: last - killedAt };
}

/** One round of one side: started anew on an empty store, all loads one after the other, and stopped. */
async function turn(side, loads, options, hear) {
  const steps = [];
  const stop = async () => {
    while (steps.length > 0) await steps.pop()();
  };
  atEnd(stop);
  const atStop = (step) => steps.push(step);
  try {
    const cluster = side.onPostgres ? await startCluster(options.bin, atStop) : undefined;
    const started = await side.start({ ...options, cluster, atStop, variant: side.variant });
    const running = { ...started, postgresCpu: cluster?.cpu };
    side.about = { version: running.version, durability: running.durability };
    await runLoad(side, running, WARM_UP, { warm: 0, seconds: options.warmFirst });
    for (const load of loads) {
      await cluster?.settle();
      const found =
        load.load === 'kill' ? await runKill(side, running) : await runLoad(side, running, load, options);
      hear(load, found);
    }
  } finally {
    await stop();
  }
}

/** A side is a file of sides/. What stands behind a colon is the side's own matter: `zizq:buffered`. */
async function readSide(spec) {
  const [name, variant] = spec.split(':');
  const { default: side } = await import(`./sides/${name}.mjs`);
  return { ...side, name, variant, spec, label: variant ? `${side.label}, ${variant}` : side.label };
}

/** The median and, where there are several rounds, the least and the most. */
function cell(values, unit = 1) {
  const known = values.filter((value) => value !== undefined).map((value) => value * unit);
  if (known.length === 0) return '';
  const spread = `${show(Math.min(...known))} to ${show(Math.max(...known))}`;
  return known.length === 1 ? show(known[0]) : `${show(median(known))} (${spread})`;
}

function printTables(report, sides, loads, found) {
  const table = (caption, rows, cellOf) =>
    rows.length > 0 &&
    report.table(
      caption,
      ['', ...sides.map(({ label }) => label)],
      rows.map((row) => [row.row, ...sides.map((side) => cellOf(found.get(side).get(row.of ?? row), row))]),
    );
  const of = (name, unit) => (results) =>
    cell(
      results.map((result) => result[name]),
      unit,
    );
  const rates = loads.filter(({ load }) => load === 'enqueue' || load === 'cycle');
  table('Jobs/s, median (least to most of the rounds):', rates, (results) => {
    const isFull = median(results.map(({ client }) => client)) >= CLIENT_IS_FULL;
    return `${of('rate')(results)}${isFull ? ' \\*' : ''}`;
  });
  if (rates.length > 0)
    report.say('\\* The client had a core for itself: the server may be able to do more.');
  table(
    'Processor time of a job in µs, of all processes of the server:',
    loads.filter(({ load }) => load !== 'kill'),
    of('cpu'),
  );
  const cells = rates.filter(({ isPerCore }) => isPerCore);
  table('Jobs/s for each core that all processes of the server used:', cells, of('perCore'));
  table('Jobs/s for each core that PostgreSQL used:', cells, of('perPostgresCore'));
  table('Processor time of the client, of 100 % of a core:', rates, of('client', 100));
  const times = loads.flatMap((load) => {
    const row = (name, what) => ({ row: `${load.row}: ${what}`, of: load, name });
    if (load.load === 'pickup') return [row('p50', 'p50'), row('p99', 'p99')];
    if (load.load === 'kill')
      return [row('first', 'another has the first job'), row('last', `all ${HELD} jobs`)];
    return [];
  });
  table('Milliseconds:', times, (results, { name }) => of(name)(results));
}

const { isShort, json, ...options } = readOptions({ full: FULL, short: SHORT });
guard(MAX_SECONDS);
try {
  const sides = await Promise.all(options.sides.split(',').map(readSide));
  const loads = loadsOf(options);
  const needsPostgres = sides.some(({ onPostgres }) => onPostgres);
  if (needsPostgres) options.bin = options.postgres || installedBin();
  options.machine = describeMachine();
  const report = openReport('headon', 'Dibs head on', {
    command: `node bench/headon/run.mjs ${process.argv.slice(2).join(' ')}`.trim(),
    ...options.machine,
    ...(needsPostgres ? { postgres: options.bin, 'postgres settings': CLUSTER } : {}),
  });

  const found = new Map(sides.map((side) => [side, new Map(loads.map((load) => [load, []]))]));
  const troubles = [];
  for (let round = 0; round < options.rounds; round++)
    // Each round begins with a different side.
    for (let i = 0; i < sides.length; i++) {
      const side = sides[(round + i) % sides.length];
      process.stderr.write(`round ${round + 1}: ${side.label}\n`);
      await turn(side, loads, options, (load, result) => {
        found.get(side).get(load).push(result);
        if (result.trouble) troubles.push([round + 1, side.label, load.row, result.trouble]);
      });
    }

  report.table(
    `Who took part, in ${options.rounds} rounds of ${options.seconds} s a load:`,
    ['', 'version', 'durability'],
    sides.map(({ label, about }) => [label, about.version, about.durability]),
  );
  printTables(report, sides, loads, found);
  if (troubles.length > 0) report.table('What went wrong:', ['round', 'who', 'load', 'what'], troubles);
  report.found.rounds = sides.map((side) => ({
    side: side.spec,
    ...side.about,
    loads: loads.map((load) => ({ ...load, rounds: found.get(side).get(load) })),
  }));
  if (json) {
    mkdirSync(dirname(json), { recursive: true });
    writeFileSync(json, JSON.stringify(report.found, null, 2));
  }
} catch (error) {
  if (!isEnding()) {
    process.stderr.write(`${error?.stack ?? error}\n`);
    process.exitCode = 1;
  }
} finally {
  await cleanUp();
}
process.exit();
