import { client } from './http.mjs';

/** The payload of all benchmarks that do not measure payloads: what an e-mail job looks like. */
export const PAYLOAD = '{"to":"ada@example.com","template":"welcome","n":1}';

<<<<<<< HEAD
=======
/** So many jobs are ready before a load begins: a claim that stalls for a moment still finds one. */
export const READY = 10_000;

>>>>>>> bench
const BATCH = 1000;

/** Runs `work` `count` times, `width` at once. */
export async function times(count, width, work) {
  let next = 0;
  const hand = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, hand));
}

/** Enqueues `count` jobs over HTTP; `job` is the JSON text of one, or gives that of the i-th. */
export async function fill(base, count, job) {
  const width = 6;
  const http = client(base, width);
  const textOf = typeof job === 'string' ? () => job : job;
  const whole = typeof job === 'string' ? `{"jobs":[${Array(BATCH).fill(job).join(',')}]}` : undefined;
  await times(Math.ceil(count / BATCH), width, async (batch) => {
    const size = Math.min(BATCH, count - batch * BATCH);
    const body =
      whole !== undefined && size === BATCH
        ? whole
        : `{"jobs":[${Array.from({ length: size }, (_, i) => textOf(batch * BATCH + i)).join(',')}]}`;
    const { status, text } = await http.call('POST', '/jobs/batch', body);
    if (status !== 201) throw new Error(`POST /jobs/batch: ${status} ${text.slice(0, 300)}`);
  });
  http.close();
}

/** The JSON text of a job. */
export const jobText = (queue, { payload = PAYLOAD, ...rest } = {}) =>
  `{"queue":"${queue}","payload":${payload}${Object.entries(rest)
    .map(([name, value]) => `,"${name}":${JSON.stringify(value)}`)
    .join('')}}`;

<<<<<<< HEAD
/** Claims all ready jobs of a queue and hands each claim's jobs to `then`; answers how many there were. */
export async function drain(base, queue, { width = 4, lease_seconds, then = () => undefined } = {}) {
=======
/** Claims all ready jobs of a queue and hands each claim's jobs to `each`; answers how many there were. */
export async function drain(base, queue, { width = 4, lease_seconds, each = () => undefined } = {}) {
>>>>>>> bench
  const http = client(base, width);
  let count = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (;;) {
        const wish = { queues: [queue], limit: BATCH, lease_seconds: lease_seconds?.() };
        const { jobs } = (await http.post('/jobs/claim', wish)).body;
        if (jobs.length === 0) break;
        count += jobs.length;
<<<<<<< HEAD
        await then(jobs, http);
=======
        await each(jobs, http);
>>>>>>> bench
      }
    }),
  );
  http.close();
  return count;
}

export const leaseOf = ({ id, lease_token }) => ({ id, lease_token });
