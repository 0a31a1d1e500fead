import { Type } from 'typebox';
import { pause } from '../../clients/typescript/src/backoff.ts';
import type { Caller } from '../../clients/typescript/src/caller.ts';
import { ConnectionError, DibsError } from '../../clients/typescript/src/errors.ts';
import {
  cancelJob,
  getOperation,
  getQueue,
  type Operation,
  type OperationRequest,
  pauseQueue,
  resumeQueue,
  retryJob,
  stopOperation,
} from '../../clients/typescript/src/generated.ts';
import { JOB_STATES } from '../../src/job.ts';
import { DryRuns } from './dryRuns.ts';
import { id, oneOf, queueName, type Tool, text, time, tool } from './tool.ts';

/** An operation that takes longer goes on. `get_operation` tells how far it is. */
const PATIENCE_MS = 20_000;
const LOOK_MS = 250;

/** The operation as it was when it was last seen: it has started, so a look that fails is no refusal of it. */
async function ended(client: Caller, started: Operation): Promise<Operation> {
  const until = performance.now() + PATIENCE_MS;
  let latest = started;
  try {
    while (latest.state === 'running' && performance.now() < until) {
      await pause(LOOK_MS);
      latest = await getOperation(client, started.id);
    }
  } catch (error) {
    if (!(error instanceof DibsError || error instanceof ConnectionError)) throw error;
  }
  return latest;
}

/** Acts on many jobs: first a dry run, then exactly that. */
function operationTools(): Tool[] {
  const dryRuns = new DryRuns();
  return [
    tool({
      name: 'dry_run_operation',
      title: 'Count the jobs that an operation would act on',
      description:
        'Changes no job. Answers the operation with `matched`, the number of jobs. Show it to the user before run_operation.',
      act: 'mild',
      input: {
        verb: oneOf(
          ['cancel', 'retry', 'delete', 'move'],
          'cancel: waiting, leased or dead jobs. retry: dead or scheduled jobs become ready, their attempts reset. ' +
            'delete: they are gone, for ever. move: they go into the queue `to`.',
        ),
        queue: queueName('Whose jobs.'),
        to: Type.Optional(queueName('With move: where they go.')),
        filter: Type.Object(
          {
            states: Type.Array(oneOf(JOB_STATES, 'A state.'), {
              minItems: 1,
              description: 'Jobs in these states.',
            }),
            group: Type.Optional(text('Only those of this group.')),
            fairness_key: Type.Optional(text('Only those with this fairness key.')),
            worker: Type.Optional(text('Only those that this worker has, or has completed.')),
            error_contains: Type.Optional(
              text('Only those whose last error contains this, letter by letter.'),
            ),
            created_after: Type.Optional(time('Only those enqueued then or later.')),
            created_before: Type.Optional(time('Only those enqueued before.')),
          },
          { additionalProperties: false, description: 'Which jobs: those that match all of it.' },
        ),
      },
      run: async (client, input) => ended(client, await dryRuns.count(client, input as OperationRequest)),
    }),
    tool({
      name: 'run_operation',
      title: 'Do what a dry run counted',
      description:
        'Starts the operation of a dry run of this session, once. It goes on in the background: get_operation tells how far it is. ' +
        'Jobs that came in between and match are included.',
      act: 'destructive',
      input: { dry_run_id: id('The id that dry_run_operation answered.') },
      run: async (client, { dry_run_id }) => ended(client, await dryRuns.run(client, dry_run_id)),
    }),
    tool({
      name: 'stop_operation',
      title: 'Stop an operation',
      description: 'What it did stays done.',
      act: 'mild',
      input: { operation_id: id('The id of an operation.') },
      run: (client, { operation_id }) => stopOperation(client, operation_id),
    }),
  ];
}

const jobId = { job_id: id('The id of a job.') };
const queue = { queue: queueName('The name of a queue.') };

/** What an assistant may do, where somebody allowed writes. What its access key does not allow is refused all the same. */
export const acts = (): Tool[] => [
  tool({
    name: 'retry_job',
    title: 'Make a dead or scheduled job ready',
    description: 'Its attempts are reset to 0.',
    act: 'mild',
    input: jobId,
    run: (client, { job_id }) => retryJob(client, job_id),
  }),
  tool({
    name: 'cancel_job',
    title: 'Cancel a job',
    description: 'A leased job is cancelled when its worker next reports, unless that is an ack.',
    act: 'destructive',
    input: jobId,
    run: (client, { job_id }) => cancelJob(client, job_id),
  }),
  tool({
    name: 'pause_queue',
    title: 'Hand out no more jobs of a queue',
    description: 'It still accepts jobs, and leases run on.',
    act: 'mild',
    input: queue,
    async run(client, { queue }) {
      // The API would create a queue that is not there. Most often its name is wrong.
      await getQueue(client, queue);
      return pauseQueue(client, queue);
    },
  }),
  tool({
    name: 'resume_queue',
    title: 'Hand out jobs of a queue again',
    description: 'Claims that wait for the queue are served at once.',
    act: 'mild',
    input: queue,
    run: (client, { queue }) => resumeQueue(client, queue),
  }),
  ...operationTools(),
];
