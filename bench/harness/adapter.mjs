// The adapter of Dibs for hardbyte/postgresql-job-queue-benchmarking: it speaks the protocol of CONTRIBUTING_ADAPTERS.md there.
import { EventEmitter } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, enqueueJobs, Producer, Worker } from '../../dist/clients/typescript/src/index.js';
import { atEnd, cleanUp } from '../lib/cleanup.mjs';
import { startReplica } from '../lib/service.mjs';
import { createLatencies } from './latencies.mjs';
import { atRate, byTokens, toDepth } from './pacing.mjs';

const QUEUE = 'long_horizon_bench';
const WINDOW_SECONDS = 30;
const STOP_SECONDS = 3;
/** Batches that are on their way at once. */
const PRODUCERS = 4;

const { env } = process;
const number = (name, fallback) => Number(env[name] ?? fallback);
const SAMPLE_SECONDS = number('SAMPLE_EVERY_S', 5);
const WORK_MS = number('JOB_WORK_MS', 1);
const RATE = number('PRODUCER_RATE', 800);
const BATCH_MAX = number('PRODUCER_BATCH_MAX', 128);
const INSTANCE = number('BENCH_INSTANCE_ID', 0);

const manifest = JSON.parse(readFileSync(new URL('./adapter.json', import.meta.url), 'utf8'));
const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const emit = (record) => process.stdout.write(`${JSON.stringify({ instance_id: INSTANCE, ...record })}\n`);
/** Milliseconds since 1970, with their fractions. */
const now = () => performance.timeOrigin + performance.now();

if ((env.SCENARIO ?? 'long_horizon') !== 'long_horizon') throw new Error(`no such scenario: ${env.SCENARIO}`);
const replica = await startReplica(env.DATABASE_URL);
const client = new Client({ url: replica.url });

emit({
  kind: 'descriptor',
  system: manifest.system,
  event_tables: manifest.event_tables,
  extensions: manifest.extensions,
  version,
  schema_version: version,
  db_name: new URL(env.DATABASE_URL).pathname.slice(1),
  started_at: new Date().toISOString(),
});

const counts = { enqueued: 0, started: 0, completed: 0 };
const changed = new EventEmitter();
const slots = Math.ceil(WINDOW_SECONDS / SAMPLE_SECONDS);
const latencies = {
  producer: createLatencies(slots),
  claim: createLatencies(slots),
  end_to_end: createLatencies(slots),
};

const worker = new Worker(
  client,
  { queues: [QUEUE], concurrency: number('WORKER_COUNT', 32), stopSeconds: STOP_SECONDS },
  async ({ payload }) => {
    counts.started++;
    changed.emit('started');
    latencies.claim.record(now() - payload.enqueued_at_ms);
    if (WORK_MS > 0) await sleep(WORK_MS);
    latencies.end_to_end.record(now() - payload.enqueued_at_ms);
    counts.completed++;
  },
);

const producer = new Producer(client, { queue: QUEUE });
/** With `--plain`, a batch has no `Idempotency-Key`. A lost answer would then enqueue it twice, as with the other queues. */
const isPlain = process.argv.includes('--plain');
const enqueueAll = (jobs) =>
  isPlain
    ? enqueueJobs(client, { jobs: jobs.map((job) => ({ queue: QUEUE, ...job })) })
    : producer.enqueueAll(jobs);
const padding = 'x'.repeat(Math.max(0, number('JOB_PAYLOAD_BYTES', 256) - 96));
let seq = 0;

function pacing() {
  if (env.PRODUCER_MODE === 'depth-target')
    return toDepth(number('TARGET_DEPTH', 1000), {
      batchMax: BATCH_MAX,
      waiting: () => seq - counts.started,
      changed,
    });
  if (env.PRODUCER_PACING === 'harness') return byTokens(process.stdin);
  return atRate(RATE, { batchMax: BATCH_MAX, batchMs: number('PRODUCER_BATCH_MS', 10) });
}

async function enqueue(count) {
  const jobs = Array.from({ length: count }, () => ({
    payload: { seq: seq++, enqueued_at_ms: now(), payload_padding: padding },
  }));
  const started = now();
  await enqueueAll(jobs);
  counts.enqueued += count;
  for (let i = 0; i < count; i++) latencies.producer.record((now() - started) / count);
}

async function produce(batches) {
  for await (const count of batches) await enqueue(count);
}

async function depth() {
  const response = await fetch(`${replica.url}/queues/${QUEUE}`);
  return response.ok ? (await response.json()).counts.ready : 0;
}

let sampled = { ...counts };
async function sample() {
  const t = new Date().toISOString();
  const metric = (name, value, window_s) =>
    emit({
      t,
      system: manifest.system,
      kind: 'adapter',
      subject_kind: 'adapter',
      subject: '',
      metric: name,
      value,
      window_s,
    });
  for (const [name, of] of Object.entries(latencies))
    for (const [percentile, value] of Object.entries(of.take()))
      metric(`${name}_${percentile}_ms`, value, WINDOW_SECONDS);
  metric('enqueue_rate', (counts.enqueued - sampled.enqueued) / SAMPLE_SECONDS, SAMPLE_SECONDS);
  metric('completion_rate', (counts.completed - sampled.completed) / SAMPLE_SECONDS, SAMPLE_SECONDS);
  sampled = { ...counts };
  if (INSTANCE === 0) metric('queue_depth', await depth(), 0);
}

async function sampleForever() {
  for (;;) {
    const periodMs = SAMPLE_SECONDS * 1000;
    await sleep(periodMs - (Date.now() % periodMs));
    await sample().catch((error) => process.stderr.write(`no sample: ${error.message}\n`));
  }
}

async function end() {
  await worker.stop({ deadlineSeconds: STOP_SECONDS });
  await cleanUp();
  process.exit(0);
}
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, end);

const batches = pacing();
// It ends when its next number comes, which may be never.
atEnd(() => void batches.return?.());
for (let i = 0; i < PRODUCERS; i++)
  void produce(batches).catch((error) => process.stderr.write(`a producer ended: ${error.message}\n`));
void sampleForever();
await worker.run();
