import { RawJson } from '../../clients/typescript/src/caller.ts';
import {
  type AckRequest,
  ackJob,
  claimJobs,
  extendLease,
  type LeasedJob,
  nackJob,
  releaseJob,
} from '../../clients/typescript/src/generated.ts';
import { listIn } from '../../clients/typescript/src/shape.ts';
import { shown } from '../shown.ts';
import { type Cli, examples, number, STATUS } from './cli.ts';
import { jsonOf } from './input.ts';
import { objectOf } from './jsonText.ts';
import { sayIfUnknown } from './queueNames.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

interface ClaimOptions {
  limit?: number;
  leaseSeconds?: number;
  waitSeconds?: number;
  worker?: string;
}

async function claim(session: Session, options: ClaimOptions, queues: string[]) {
  const answer = await session.ask((caller) =>
    claimJobs(caller, {
      queues: queues.length > 0 ? queues : undefined,
      limit: options.limit,
      lease_seconds: options.leaseSeconds,
      wait_seconds: options.waitSeconds,
      worker: options.worker,
      payload_format: session.isJson ? 'json' : 'text',
    }),
  );
  const jobs = listIn<LeasedJob>(answer.value, 'jobs');
  const row = (job: LeasedJob) => [job.id, job.lease_token, job.attempt, job.lease_seconds, job.payload_text];
  const headings = ['ID', 'LEASE TOKEN', 'ATTEMPT', 'SECONDS', 'PAYLOAD'];
  session.show(answer, () =>
    jobs.length === 0
      ? shown``
      : table(
          headings,
          jobs.map(row),
          { ...session.terminal.stdout, isTTY: false, write: () => undefined },
          session.paint,
        ),
  );
  if (jobs.length > 0) return STATUS.done;
  session.say(shown`There was no job to claim. \`dibs explain --queue NAME\` says why.`);
  for (const queue of queues) await sayIfUnknown(session, queue);
  return STATUS.nothing;
}

async function ack(
  session: Session,
  options: { result?: string; text?: boolean },
  id: string,
  token: string,
) {
  const parts: [string, string][] = [['lease_token', JSON.stringify(token)]];
  if (options.result !== undefined)
    parts.push(['result', jsonOf(options.result, options.text, 'The result')]);
  const body = new RawJson(objectOf(parts)) as unknown as AckRequest;
  session.show(await session.ask((caller) => ackJob(caller, id, body)), () => shown`${id} is done.\n`);
  return STATUS.done;
}

async function nack(
  session: Session,
  options: { error?: string; retry: boolean; delaySeconds?: number },
  id: string,
  lease_token: string,
) {
  const { error, retry, delaySeconds: delay_seconds } = options;
  const answer = await session.ask((caller) =>
    nackJob(caller, id, { lease_token, error, retry, delay_seconds }),
  );
  session.show(answer, ({ state, run_at }) =>
    state === 'dead' ? shown`${id} is dead.\n` : shown`${id} is ${state}: tried again at ${run_at}.\n`,
  );
  return STATUS.done;
}

async function release(
  session: Session,
  options: { delaySeconds?: number },
  id: string,
  lease_token: string,
) {
  const body = { lease_token, delay_seconds: options.delaySeconds };
  const answer = await session.ask((caller) => releaseJob(caller, id, body));
  session.show(answer, ({ state }) => shown`${id} is ${state}.\n`);
  return STATUS.done;
}

async function extend(session: Session, options: { leaseSeconds: number }, id: string, lease_token: string) {
  const body = { lease_token, lease_seconds: options.leaseSeconds };
  const answer = await session.ask((caller) => extendLease(caller, id, body));
  session.show(
    answer,
    ({ lease_expires_at, cancel_requested }) =>
      shown`The lease runs until ${lease_expires_at}.${cancel_requested ? ' Somebody wants the job stopped.' : ''}\n`,
  );
  return STATUS.done;
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('claim [queues...]')
      .summary('claim jobs: get leases on them')
      .description(
        'Claims jobs, and prints each with its lease token. Earlier queues go first. The exit status is 4 when there was no job.\n\n' +
          'To run a command for each job, use `dibs work`.',
      )
      .option('--limit <n>', 'how many jobs at most', number(1, 1000), 1)
      .option('--lease-seconds <n>', "how long the leases run (default: the queue's)", number(1))
      .option('--wait-seconds <n>', 'how long to wait for a first job, up to 60', number(0, 60), 0)
      .option('--worker <name>', 'the name of this worker, shown with the job')
      .action(act(claim)),
    'dibs claim mail --lease-seconds 300',
    'dibs claim mail --json | jq -r \'.jobs[] | .id + " " + .lease_token\'',
  );
  examples(
    program
      .command('ack <id> <token>')
      .summary('report that a claimed job is done')
      .description('Acknowledges a claimed job: its work is done.')
      .option('--result <json>', 'the result of the job; kept for the retention of its queue')
      .option('--text', 'the result is text, and is sent as a string')
      .action(act(ack)),
    `dibs ack 01a1f5c2-77aa-7000-8000-0000000000c1 f3k9... --result '{"sent": true}'`,
  );
  examples(
    program
      .command('nack <id> <token>')
      .summary('report that a claimed job failed')
      .description('Reports that a claimed job failed. It is retried while it has attempts left.')
      .option('--error <text>', 'what went wrong')
      .option('--no-retry', 'do not retry it: it is dead')
      .option('--delay-seconds <n>', 'delay before the retry (default: its backoff)', number())
      .action(act(nack)),
    'dibs nack 01a1f5c2-77aa-7000-8000-0000000000c1 f3k9... --error "SMTP 421" --delay-seconds 60',
  );
  examples(
    program
      .command('release <id> <token>')
      .summary('give a claimed job back')
      .description('Gives a claimed job back without working on it. No attempt is charged.')
      .option('--delay-seconds <n>', 'delay before it becomes ready again', number())
      .action(act(release)),
    'dibs release 01a1f5c2-77aa-7000-8000-0000000000c1 f3k9...',
  );
  examples(
    program
      .command('extend <id> <token>')
      .summary('extend a lease')
      .description('Extends the lease of a claimed job, as a heartbeat does.')
      .requiredOption('--lease-seconds <n>', 'how long the lease runs from now', number(1))
      .action(act(extend)),
    'dibs extend 01a1f5c2-77aa-7000-8000-0000000000c1 f3k9... --lease-seconds 300',
  );
}
