// Runs one round of one peer: producers and workers of its library, all in this process. Its argument is one
// line of JSON, and it prints its findings as one line of JSON.
import { PAYLOAD } from '../lib/jobs.mjs';
import { settle } from '../lib/postgres.mjs';
import { drainRate, enqueueRate, fillWith, wakeUps } from './measure.mjs';

const { peer, url, database, seconds, backlog, wakes, sizes } = JSON.parse(process.argv[2]);
const { open } = await import(`./${peer}.mjs`);
const data = JSON.parse(PAYLOAD);
const side = await open({ url, data });
/** Makes each load start alike. Redis needs nothing like that. */
const rest = () => (database ? settle(database) : undefined);

const found = { wake: await wakeUps(side.waker, wakes), drain: {}, enqueue: {} };
let ready = 0;
for (const size of [1, 100]) {
  const start = side.drain(size);
  if (!start) continue;
  const total = backlog[size];
  await fillWith(side.addMany, total - ready);
  ready = Math.max(ready, total);
  await rest();
  const { rate, drained } = await drainRate(start, { seconds, total });
  found.drain[size] = rate;
  ready -= drained;
}
for (const size of sizes) {
  await rest();
  const add = size === 1 ? side.add : side.addMany;
  found.enqueue[size] = await enqueueRate(add, { width: side.producers[size], seconds, size });
}
await side.close();
process.stdout.write(`RESULT ${JSON.stringify(found)}\n`);
process.exit();
