import { client } from './http.mjs';

/** The payload of all benchmarks that do not measure payloads: that of a typical e-mail job. */
export const PAYLOAD = '{"to":"ada@example.com","template":"welcome","n":1}';

/** The number of jobs that are ready before a load begins, so that every claim finds one. */
export const READY = 10_000;

const BATCH = 1000;

/** Runs `work` `count` times, `width` at once. */
export async function times(count, width, work) {
  let next = 0;
  const hand = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, hand));
}

/** Enqueues `count` jobs over HTTP. `job` is the JSON text of a job, or a function of i that gives it. */
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

/** Claims all ready jobs of a queue and passes each claim's jobs to `each`. Returns the number of jobs. */
export async function drain(base, queue, { width = 4, lease_seconds, each = () => undefined } = {}) {
  const http = client(base, width);
  let count = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (;;) {
        const wish = { queues: [queue], limit: BATCH, lease_seconds: lease_seconds?.() };
        const { jobs } = (await http.post('/jobs/claim', wish)).body;
        if (jobs.length === 0) break;
        count += jobs.length;
        await each(jobs, http);
      }
    }),
  );
  http.close();
  return count;
}

export const leaseOf = ({ id, lease_token }) => ({ id, lease_token });
