import type { JobSpec, QueueConfig } from '../../clients/typescript/src/generated.ts';
import type { Handler, Job } from '../../clients/typescript/src/job.ts';
import { Ack, Nack } from '../../clients/typescript/src/outcome.ts';
import { between, happens, napping, oneOf } from './chance.ts';

/** A queue of the demo: what it shows, what comes into it, and who works on it. */
export interface DemoQueue {
  name: string;
  /** For people. */
  shows: string;
  config: QueueConfig;
  /** Jobs that are there from the start, as one batch. */
  batch?: JobSpec[];
  /** Jobs that go on to come. */
  jobs?: { perSecond: number; next(): JobSpec };
  /** Each of these names is a worker of its own. */
  workers?: { names: string[]; concurrency: number; handler: Handler<never> };
}

/** Whatever happens, no queue takes more. */
const MOST_READY = 1000;
const shared = { retention_seconds: 3600, max_ready: MOST_READY };
const people = ['ada', 'alan', 'barbara', 'edsger', 'grace', 'tony'];
const address = () => `${oneOf(people)}@example.com`;
const times = (count: number, make: (i: number) => JobSpec) =>
  Array.from({ length: count }, (_, i) => make(i));

async function mail(job: Job): Promise<object> {
  await napping(job, between(0.1, 0.4));
  if (happens(0.06)) throw new Error('SMTP 421: the mailbox is busy, try again later');
  return { message_id: `<${job.id}@mail.example.com>` };
}

async function image(job: Job<{ file: string }>): Promise<object> {
  const steps = 5;
  for (let step = 1; step <= steps; step++) {
    await napping(job, between(0.5, 1.5));
    await job.progress({ percent: (100 * step) / steps });
  }
  return { thumbnail: job.payload.file.replace('.jpg', '-256.webp') };
}

async function payment(job: Job): Promise<object> {
  await napping(job, between(0.2, 0.6));
  if (happens(0.08)) throw new Nack('card declined: insufficient funds', { retry: false });
  if (happens(0.04)) throw new Nack('card declined: it has expired', { retry: false });
  if (happens(0.35)) throw new Error('gateway timeout: no answer of payments.example.com within 0.5 s');
  return { receipt: `R-${job.id.slice(-6)}` };
}

async function order(job: Job<{ customer: string }>): Promise<Ack> {
  await napping(job, between(0.4, 0.9));
  const letter = { to: `${job.payload.customer}@example.com`, template: 'order-shipped' };
  return new Ack({ result: { shipped: true }, enqueue: [{ queue: 'demo.mail', payload: letter }] });
}

const quick = (least: number, most: number) => (job: Job) => napping(job, between(least, most));

/** The schedule that puts jobs into demo.reports. Its job also marks what the demo has made: see mark.ts. */
export const SCHEDULE = 'demo.reports';
export const REPORTS = {
  cron: '*/20 * * * * *',
  job: { queue: 'demo.reports', payload: { report: 'sales' } },
};

/** They wait in a paused queue. An operation cancels those of this group. */
export const UNSUBSCRIBED = 'unsubscribed';

export const QUEUES: DemoQueue[] = [
  {
    name: 'demo.mail',
    shows: 'mostly goes well: some jobs are delayed, some fail and are tried again',
    config: { ...shared, backoff: { kind: 'exponential', base_seconds: 2, max_seconds: 60 } },
    jobs: {
      perSecond: 2,
      next: () => ({
        payload: { to: address(), template: 'welcome' },
        delay_seconds: happens(0.1) ? between(20, 60) : undefined,
      }),
    },
    workers: { names: ['mailer-1', 'mailer-2'], concurrency: 4, handler: mail },
  },
  {
    name: 'demo.images',
    shows: 'long jobs that tell their progress: each file once, at most 3 at a time',
    config: { ...shared, max_leased: 3 },
    jobs: {
      perSecond: 0.6,
      next: () => {
        const file = `photo-${Math.floor(between(1, 60))}.jpg`;
        return { payload: { file }, unique_key: file, priority: Math.floor(between(0, 10)) };
      },
    },
    workers: { names: ['resizer-1', 'resizer-2'], concurrency: 2, handler: image },
  },
  {
    name: 'demo.payments',
    shows: 'fails: retries, and dead jobs of three reasons',
    config: { ...shared, max_attempts: 3, backoff: { kind: 'constant', base_seconds: 3 } },
    jobs: {
      perSecond: 0.8,
      next: () => ({
        payload: { card: `tok_${Math.floor(between(1000, 9999))}`, cents: Math.floor(between(100, 9900)) },
      }),
    },
    workers: { names: ['cashier-1'], concurrency: 3, handler: payment },
  },
  {
    name: 'demo.orders',
    shows: 'groups: the orders of a customer run one after the other, and each enqueues a mail',
    config: shared,
    jobs: {
      perSecond: 1.5,
      next: () => {
        const customer = oneOf(people);
        return { payload: { customer, items: Math.ceil(between(0, 9)) }, group: customer };
      },
    },
    workers: { names: ['packer-1', 'packer-2'], concurrency: 2, handler: order },
  },
  {
    name: 'demo.reports',
    shows: 'a schedule every 20 s, results, and now and then a worker that dies with its job',
    config: shared,
    workers: { names: ['reporter-1'], concurrency: 1, handler: quick(1, 3) },
  },
  {
    name: 'demo.tenants',
    shows: 'fairness: a tenant with 400 jobs does not hold up those with a few',
    config: shared,
    batch: times(400, (i) => ({ fairness_key: 'large', payload: { row: i }, unique_key: `large-${i}` })),
    jobs: { perSecond: 0.5, next: () => ({ fairness_key: oneOf(['small', 'tiny']), payload: { row: 0 } }) },
    workers: { names: ['importer-1'], concurrency: 1, handler: quick(0.5, 1) },
  },
  {
    name: 'demo.webhooks',
    shows: 'a rate limit of one job a second: jobs wait, and expire after five minutes',
    config: { ...shared, max_ready: 200, rate_limit: { jobs: 1, per_seconds: 1 } },
    jobs: {
      perSecond: 1.4,
      next: () => ({ payload: { url: 'https://example.com/hook' }, expires_in_seconds: 300 }),
    },
    workers: { names: ['caller-1'], concurrency: 2, handler: quick(0.1, 0.3) },
  },
  {
    name: 'demo.newsletter',
    shows: 'paused, with a batch of 200 jobs; an operation has cancelled 20 of them',
    config: shared,
    batch: times(200, (i) => ({
      payload: { issue: 7, to: `reader-${i}@example.com` },
      unique_key: `reader-${i}`,
      group: i % 10 === 0 ? UNSUBSCRIBED : undefined,
    })),
  },
];
