import { randomBytes } from 'node:crypto';
import {
  ackJob,
  claimJobs,
  deleteQueue,
  enqueueJob,
  enqueueJobs,
  settleJobs,
} from '../../clients/typescript/src/generated.ts';
import { counted } from '../counted.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number } from './cli.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

interface Options {
  jobs: number;
  concurrency: number;
  batch: number;
  payloadBytes: number;
}

interface Measured {
  what: string;
  jobs: number;
  seconds: number;
  /** Of each request, sorted. */
  ms: number[];
}

/** The smallest value that this share of all does not exceed. */
export const percentile = (sorted: number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;

const timed = async <T>(into: number[], work: () => Promise<T>): Promise<T> => {
  const started = performance.now();
  const result = await work();
  into.push(performance.now() - started);
  return result;
};

/** Several loops at once, each until `step` says that there is nothing left. */
const together = (concurrency: number, step: () => Promise<boolean>): Promise<unknown> =>
  Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (await step());
    }),
  );

async function producing({ client }: Session, queue: string, options: Options): Promise<Measured> {
  const payload = 'x'.repeat(Math.max(0, options.payloadBytes - 2));
  const ms: number[] = [];
  let left = options.jobs;
  const started = performance.now();
  await together(options.concurrency, async () => {
    const size = Math.min(options.batch, left);
    if (size === 0) return false;
    left -= size;
    const jobs = Array.from({ length: size }, () => ({ queue, payload }));
    await timed<unknown>(ms, () =>
      options.batch === 1 ? enqueueJob(client, { queue, payload }) : enqueueJobs(client, { jobs }),
    );
    return true;
  });
  return { what: 'enqueue', jobs: options.jobs, seconds: (performance.now() - started) / 1000, ms };
}

async function consuming({ client }: Session, queue: string, options: Options): Promise<Measured[]> {
  const [claims, acks]: [number[], number[]] = [[], []];
  // Nobody claims what others get: the last claims would wait for nothing, and the rate would be of that.
  let left = options.jobs;
  const started = performance.now();
  await together(options.concurrency, async () => {
    const limit = Math.min(options.batch, left);
    if (limit === 0) return false;
    left -= limit;
    const { jobs } = await timed(claims, () =>
      claimJobs(client, { queues: [queue], limit, lease_seconds: 600, wait_seconds: 1 }),
    );
    left += limit - jobs.length;
    const items = jobs.map(({ id, lease_token }) => ({ id, lease_token }));
    const [first] = items;
    if (first === undefined) return true;
    await timed(acks, async () => {
      if (options.batch > 1) await settleJobs(client, { acks: items });
      else await ackJob(client, first.id, { lease_token: first.lease_token });
    });
    return true;
  });
  const seconds = (performance.now() - started) / 1000;
  return [
    { what: 'claim', jobs: options.jobs, seconds, ms: claims },
    { what: 'ack', jobs: options.jobs, seconds, ms: acks },
  ];
}

const rounded = (value: number) => Number(value.toFixed(1));

const summary = ({ what, jobs, seconds, ms }: Measured) => {
  const sorted = [...ms].sort((a, b) => a - b);
  const at = (share: number) => rounded(percentile(sorted, share));
  return {
    what,
    jobs,
    requests: ms.length,
    jobs_per_second: Math.round(jobs / seconds),
    p50_ms: at(0.5),
    p90_ms: at(0.9),
    p99_ms: at(0.99),
    max_ms: at(1),
  };
};

async function bench(session: Session, options: Options): Promise<undefined> {
  if (options.batch > options.jobs) throw new UsageError('--batch must be at most --jobs.');
  const queue = `dibs-bench-${randomBytes(4).toString('hex')}`;
  session.say(
    shown`${counted(options.jobs)} through queue "${queue}" of ${session.client.url}, ${counted(options.concurrency, 'request')} at once.`,
  );
  try {
    const measured = [
      await producing(session, queue, options),
      ...(await consuming(session, queue, options)),
    ];
    const results = measured.map(summary);
    if (session.isJson) session.json(JSON.stringify({ queue, ...options, json: undefined, results }));
    else {
      const headings = ['', 'JOBS', 'REQUESTS', 'JOBS/S', 'P50 ms', 'P90 ms', 'P99 ms', 'MAX ms'];
      session.out(
        table(
          headings,
          results.map((result) => Object.values(result)),
          session.terminal.stdout,
          session.paint,
        ),
      );
      session.out(shown`Claims and acks take turns, so both have the rate of the whole cycle.\n`);
    }
  } finally {
    await deleteQueue(session.client, queue, { force: true, timeoutSeconds: 600 }).catch((error) =>
      session.say(shown`Queue "${queue}" is left over: ${(error as Error).message}`),
    );
  }
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('bench')
      .summary('measure jobs a second and latencies')
      .description(
        'Puts jobs through a queue of its own, and deletes it: how many jobs a second are enqueued, claimed and acked from this machine, and how long the requests take. It is heavy load: think before you run it where others work.',
      )
      .option('--jobs <n>', 'how many', number(1, 1_000_000), 2000)
      .option('--concurrency <n>', 'how many requests at once', number(1, 1000), 16)
      .option('--batch <n>', 'how many jobs a request has', number(1, 1000), 1)
      .option('--payload-bytes <n>', 'how large a payload is', number(2, 1_000_000), 100)
      .action(act(bench)),
    'dibs bench --jobs 20000 --concurrency 64 --batch 100',
  );
}
