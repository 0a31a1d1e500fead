// The driver of the TypeScript library, as built in dist/. See ../README.md.
import { createInterface } from 'node:readline';
import { inspect } from 'node:util';
import {
  Ack,
  Client,
  JobSignal,
  Nack,
  Producer,
  Release,
  Worker,
} from '../../../dist/clients/typescript/src/index.js';

const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const codeOf = (error) => error.code ?? String(error);
const textOf = (error) => inspect(error, { depth: 10 });
const secondsOf = (given) => (given === 'forever' ? Number.POSITIVE_INFINITY : (given ?? undefined));

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

/** An error with these causes, from the outside in. */
function failure({ fail, causes = [], circle }) {
  const all = [fail, ...causes].map((text) => new Error(text));
  for (const [i, error] of all.entries()) if (all[i + 1]) error.cause = all[i + 1];
  if (circle) all.at(-1).cause = all[0];
  return all[0];
}

const revoked = (kind) => {
  const { proxy, revoke } = Proxy.revocable(kind, {});
  revoke();
  return proxy;
};
const fails = (what) => {
  throw what;
};
const circular = {};
circular.self = circular;

/** Odd ways for a handler to end. */
const ODD_ENDS = {
  'throws undefined': () => fails(undefined),
  'throws null': () => fails(null),
  'throws an empty text': () => fails(''),
  'throws a number': () => fails(0),
  'throws a symbol': () => fails(Symbol('odd')),
  'throws an object without a prototype': () =>
    fails(Object.assign(Object.create(null), { code: 'E_PARSED' })),
  'throws an error whose text throws': () =>
    fails(Object.defineProperty(new Error('x'), 'message', { get: () => fails(new Error('no text')) })),
  'throws an error whose stack throws': () =>
    fails(Object.defineProperty(new Error('x'), 'stack', { get: () => fails(new Error('no stack')) })),
  'throws what throws when it becomes a text': () =>
    fails({ toString: () => fails(1), toJSON: () => fails(2) }),
  'throws a proxy that was revoked': () => fails(revoked({})),
  'throws an error whose causes throw': () =>
    fails(Object.defineProperty(new Error('x'), 'cause', { get: () => fails(1) })),
  'throws half of a character and a NUL': () => fails(new Error('\ud800\0')),
  'rejects with nothing': () => Promise.reject(),
  'aborts, though nobody asked for it': () => fails(new DOMException('aborted', 'AbortError')),
  'throws the error of a signal that did not fire': () => fails(new JobSignal('stopping')),
  'returns a proxy that was revoked': () => revoked({}),
  'returns a thenable that throws': () => ({
    // biome-ignore lint/suspicious/noThenProperty: it is the odd thing here.
    then: () => fails(new Error('then')),
  }),
  'returns a circle': () => circular,
  'returns a function': () => () => undefined,
  'returns a large integer': () => 1n,
  'returns what throws when it becomes JSON': () => ({ toJSON: () => fails(Object.create(null)) }),
  'returns a nack': () => new Nack('returned'),
  'has a follow-up that is a circle': () => new Ack({ enqueue: [circular] }),
  'has follow-ups that are no list': () => new Ack({ enqueue: 'none' }),
  'has a nack that cannot be written': () => fails(new Nack('odd', { enqueue: [circular], retry: 1n })),
  'rests for no time': () => fails(new Nack('rests', { delaySeconds: 'soon' })),
  'has no text': () => fails(new Nack(undefined)),
};

async function play(job, worker) {
  const script = job.payload ?? {};
  for (const value of script.progress ?? []) await job.progress(value);
  await sleep(script.ms ?? 0, job.signal, script.ignore_signal === true);
  if (script.stop === 'ask') void worker.stop();
  if (script.stop === 'wait') await worker.stop();
  if (script.odd !== undefined) return ODD_ENDS[script.odd]();
  if (script.fail !== undefined) {
    if (!script.dead && script.delay_seconds === undefined) throw failure(script);
    throw new Nack(script.fail, { retry: !script.dead, delaySeconds: script.delay_seconds });
  }
  if (script.release) throw new Release({ delaySeconds: script.delay_seconds });
  const result = script.large_result ? 'x'.repeat(script.large_result) : script.result;
  const followUps = [];
  if (script.follow_up) followUps.push(script.follow_up);
  if (script.in_batch) followUps.push({ ...script.in_batch, batch: job.batch });
  return followUps.length > 0 ? new Ack({ result, enqueue: followUps }) : result;
}

/** A key, or a function that does one step at each call. */
function keyOf(key) {
  if (!Array.isArray(key)) return key;
  let calls = 0;
  return async () => {
    const step = key[Math.min(calls++, key.length - 1)];
    if (step.hang) return new Promise(() => undefined);
    if (step.fail !== undefined) throw new Error(step.fail);
    return step.key;
  };
}

const clientOf = ({ url, key, key_file: keyFile, timeout_seconds }) =>
  new Client({ url, key: keyOf(key), keyFile, timeoutSeconds: secondsOf(timeout_seconds) });

const workers = new Map();

/** Makes something. When that fails, its settings are wrong. */
function made(as, make) {
  try {
    return make();
  } catch (error) {
    say({ event: 'failed', as, code: 'config', text: textOf(error) });
    return undefined;
  }
}

function start({ as, ...settings }) {
  let isStopAsked = false;
  const observe = (event) => {
    if (event.type === 'signalled') say({ event: 'signal', as, id: event.job.id, code: event.code });
    if (event.type === 'retrying') say({ event: 'retrying', as, text: textOf(event.error) });
    if (event.type === 'refused') say({ event: 'refused', as, id: event.job.id, text: textOf(event.error) });
    if (event.type === settings.stop_on && !isStopAsked) {
      isStopAsked = true;
      void worker.stop();
    }
  };
  const options = {
    queues: settings.queues,
    concurrency: settings.concurrency,
    leaseSeconds: settings.lease_seconds,
    waitSeconds: settings.wait_seconds,
    stopSeconds: secondsOf(settings.stop_seconds),
    name: settings.name,
    session: settings.session,
    resumeSeconds: settings.resume_seconds,
    decode(text) {
      if (text.includes('undecodable')) throw new Error('the driver does not read this');
      return JSON.parse(text);
    },
    observe,
  };
  const handler = async (job) => {
    const { id, attempt, deliveries, headers, payloadText: payload_text, lastProgress: progress } = job;
    say({ event: 'started', as, id, attempt, deliveries, headers, payload_text, progress });
    try {
      return await play(job, worker);
    } finally {
      say({ event: 'finished', as, id });
    }
  };
  const worker = made(as, () => new Worker(clientOf(settings), options, handler));
  if (!worker) return;
  workers.set(as, worker);
  if (settings.stop_first) void worker.stop();
  (settings.until_signal ? worker.runUntilSignal() : worker.run())
    .then(
      () => say({ event: 'stopped', as }),
      (error) => say({ event: 'failed', as, code: codeOf(error), text: textOf(error) }),
    )
    .then(() => settings.until_signal && process.stdin.destroy());
}

function enqueue({ as, jobs, retry_seconds = 10, ...settings }) {
  const retrySeconds = secondsOf(retry_seconds);
  const producer = made(as, () => new Producer(clientOf(settings), { retrySeconds }));
  if (!producer) return;
  const sent = jobs.length === 1 ? producer.enqueue(jobs[0]).then((job) => [job]) : producer.enqueueAll(jobs);
  sent.then(
    (all) => say({ event: 'enqueued', as, ids: all.map(({ id }) => id) }),
    (error) => say({ event: 'failed', as, code: codeOf(error), text: textOf(error) }),
  );
}

async function withBatch(producer, { as, batch: spec, id, add, close, cancel, wait_seconds }) {
  const { on_success: onSuccess, on_end: onEnd, ...rest } = spec ?? {};
  const batch = spec ? await producer.batch({ ...rest, onSuccess, onEnd }) : producer.batchById(id);
  say({ event: 'made', as, id: batch.id });
  if (add?.length === 1) await batch.add(add[0]);
  else if (add) await batch.addAll(add);
  if (close) await batch.close();
  if (cancel) await batch.cancel();
  const wait = () => batch.wait({ timeoutSeconds: wait_seconds });
  const { state, counts } = await (wait_seconds === undefined ? batch.get() : wait());
  say({ event: 'batch', as, id: batch.id, state, counts });
}

function batch({ as, ...settings }) {
  const producer = made(as, () => new Producer(clientOf(settings), { retrySeconds: 10 }));
  if (!producer) return;
  withBatch(producer, { as, ...settings }).catch((error) =>
    say({ event: 'failed', as, code: codeOf(error), text: textOf(error) }),
  );
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const command = JSON.parse(line);
    if (command.do === 'start') start(command);
    else if (command.do === 'enqueue') enqueue(command);
    else if (command.do === 'batch') batch(command);
    else if (command.do === 'kill') process.kill(process.pid, 'SIGKILL');
    else if (command.do === 'odd_ends')
      say({ event: 'odd_ends', as: command.as, names: Object.keys(ODD_ENDS) });
    else workers.get(command.as)?.stop({ deadlineSeconds: command.seconds ?? undefined });
  })
  .on('close', () => process.stdin.destroyed || process.exit());
