// The driver of the TypeScript library, as built in dist/. See ../README.md.
import { createInterface } from 'node:readline';
import {
  Ack,
  Client,
  DibsError,
  Nack,
  Producer,
  Release,
  Worker,
} from '../../../dist/clients/typescript/src/index.js';

const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const codeOf = (error) => error.code ?? String(error);

function sleep(ms, signal, isIgnored) {
  return new Promise((resolve, reject) => {
    if (!isIgnored && signal.aborted) return reject(signal.reason);
    const timer = setTimeout(resolve, ms);
    if (!isIgnored)
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(signal.reason);
      });
  });
}

async function play(job) {
  const script = job.payload ?? {};
  for (const value of script.progress ?? []) await job.progress(value);
  await sleep(script.ms ?? 0, job.signal, script.ignore_signal === true);
  if (script.fail !== undefined) {
    if (!script.dead && script.delay_seconds === undefined) throw new Error(script.fail);
    throw new Nack(script.fail, { retry: !script.dead, delaySeconds: script.delay_seconds });
  }
  if (script.release) throw new Release({ delaySeconds: script.delay_seconds });
  const result = script.large_result ? 'x'.repeat(script.large_result) : script.result;
  return script.follow_up ? new Ack({ result, enqueue: [script.follow_up] }) : result;
}

const workers = new Map();

function start({ as, ...settings }) {
  const worker = new Worker(
    new Client({ url: settings.url }),
    {
      queues: settings.queues,
      concurrency: settings.concurrency,
      leaseSeconds: settings.lease_seconds,
      waitSeconds: settings.wait_seconds,
      stopSeconds: settings.stop_seconds,
      name: settings.name,
      decode(text) {
        if (text.includes('undecodable')) throw new Error('the driver does not read this');
        return JSON.parse(text);
      },
      observe(event) {
        if (event.type === 'signalled') say({ event: 'signal', as, id: event.job.id, code: event.code });
      },
    },
    async (job) => {
      const { id, attempt, deliveries, headers, payloadText: payload_text, lastProgress: progress } = job;
      say({ event: 'started', as, id, attempt, deliveries, headers, payload_text, progress });
      try {
        return await play(job);
      } finally {
        say({ event: 'finished', as, id });
      }
    },
  );
  workers.set(as, worker);
  worker.run().then(
    () => say({ event: 'stopped', as }),
    (error) => say({ event: 'failed', as, code: codeOf(error) }),
  );
}

function enqueue({ as, url, jobs }) {
  const producer = new Producer(new Client({ url }), { retrySeconds: 10 });
  const sent = jobs.length === 1 ? producer.enqueue(jobs[0]).then((job) => [job]) : producer.enqueueAll(jobs);
  sent.then(
    (all) => say({ event: 'enqueued', as, ids: all.map(({ id }) => id) }),
    (error) => say({ event: 'failed', as, code: error instanceof DibsError ? error.code : codeOf(error) }),
  );
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const command = JSON.parse(line);
    if (command.do === 'start') start(command);
    else if (command.do === 'enqueue') enqueue(command);
    else workers.get(command.as)?.stop({ deadlineSeconds: command.seconds ?? undefined });
  })
  .on('close', () => process.exit());
