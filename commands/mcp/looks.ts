import { Type } from 'typebox';
import {
  explainBatch,
  explainJob,
  explainQueue,
  getJob,
  getJobHistory,
  getOperation,
  getOverview,
  getQueue,
  getQueueErrors,
  listBatches,
  listJobs,
  listOperations,
  listQueues,
  listSchedules,
  listWorkers,
} from '../../clients/typescript/src/generated.ts';
import { JOB_STATES } from '../../src/job.ts';
import { BATCH_STATES } from '../../src/verbs/batches.ts';
import { OPERATION_STATES } from '../../src/verbs/operations.ts';
import { id, LIMIT, oneOf, page, queueName, type Tool, text, time, tool } from './tool.ts';

const jobId = { job_id: id('The id of a job.') };
const queue = { queue: queueName('The name of a queue.') };

/** What an assistant may look at. */
export const LOOKS: Tool[] = [
  tool({
    name: 'get_overview',
    title: 'All queues at a glance',
    description:
      'The queues with trouble first, each with what is wrong, its counts, rates a second, and the age of its oldest ready job in seconds. ' +
      'It also says which scopes the access key has. Begin here when it is not clear which queue is meant.',
    input: { limit: page.limit },
    run: (client, { limit = LIMIT }) => getOverview(client, { limit }),
  }),
  tool({
    name: 'list_queues',
    title: 'List queues by name',
    description: 'Queues with their configuration and how many jobs they have in each state.',
    input: { name_contains: Type.Optional(text('Only those whose name contains this.')), ...page },
    run: (client, input) => listQueues(client, { limit: LIMIT, ...input }),
  }),
  tool({
    name: 'get_queue',
    title: 'Get a queue',
    description:
      'Its configuration (times in seconds), how many jobs it has in each state, whether it is paused, and the age of its oldest ready job.',
    input: queue,
    run: (client, { queue }) => getQueue(client, queue),
  }),
  tool({
    name: 'explain_queue',
    title: 'Why does a claim get nothing?',
    description: 'What a claim from this queue would get now. If it would get nothing: the one reason.',
    input: queue,
    run: (client, { queue }) => explainQueue(client, queue),
  }),
  tool({
    name: 'get_queue_errors',
    title: 'What do the jobs of a queue die of?',
    description: 'The last errors of its dead jobs, similar ones counted as one, those of most jobs first.',
    input: queue,
    run: (client, { queue }) => getQueueErrors(client, queue),
  }),
  tool({
    name: 'list_workers',
    title: 'Who works now?',
    description: 'The workers that hold jobs, with how many, and since when.',
    input: { queue: Type.Optional(queueName('Only those with jobs of this queue.')) },
    run: (client, input) => listWorkers(client, input),
  }),
  tool({
    name: 'list_jobs',
    title: 'List jobs',
    description:
      'Jobs that match all that is given, newest first. Each has its state, attempts, worker and last error.',
    input: {
      queue: Type.Optional(queueName('Only those of this queue.')),
      state: Type.Optional(oneOf(JOB_STATES, 'Only those in this state.')),
      group: Type.Optional(text('Only those of this group.')),
      batch: Type.Optional(id('Only those of the batch with this id.')),
      fairness_key: Type.Optional(text('Only those with this fairness key.')),
      unique_key: Type.Optional(text('Only those with this unique key.')),
      worker: Type.Optional(text('Only those that this worker has, or has completed.')),
      error_contains: Type.Optional(text('Only those whose last error contains this, letter by letter.')),
      created_after: Type.Optional(time('Only those enqueued then or later.')),
      created_before: Type.Optional(time('Only those enqueued before.')),
      order: Type.Optional(oneOf(['newest', 'oldest'], 'By when they were enqueued. Default: newest.')),
      include_payload: Type.Optional(
        Type.Boolean({ description: 'Also show each payload, as payload_text. Default: false.' }),
      ),
      ...page,
    },
    run: (client, { include_payload, ...filter }) =>
      listJobs(client, {
        limit: LIMIT,
        ...filter,
        ...(include_payload ? { include: 'payload', payload_format: 'text' } : {}),
      }),
  }),
  tool({
    name: 'get_job',
    title: 'Look at a job',
    description: 'The job with its payload, as payload_text, and its result and progress.',
    input: jobId,
    run: (client, { job_id }) => getJob(client, job_id, { payload_format: 'text' }),
  }),
  tool({
    name: 'explain_job',
    title: 'Why does a job wait?',
    description: 'The one reason why the job is not running, as a code and in words.',
    input: jobId,
    run: (client, { job_id }) => explainJob(client, job_id),
  }),
  tool({
    name: 'get_job_history',
    title: 'What happened to a job?',
    description:
      'Each attempt that did not end by an ack, and what somebody did to the job, oldest first. Kept for 30 days, also when the job is gone.',
    input: jobId,
    run: (client, { job_id }) => getJobHistory(client, job_id),
  }),
  tool({
    name: 'list_operations',
    title: 'List operations, newest first',
    description: 'Acts on many jobs in the background: what they match, how far they are, who started them.',
    input: {
      queue: Type.Optional(queueName('Only those on this queue.')),
      state: Type.Optional(oneOf(OPERATION_STATES, 'Only those in this state.')),
      ...page,
    },
    run: (client, input) => listOperations(client, { limit: LIMIT, ...input }),
  }),
  tool({
    name: 'get_operation',
    title: 'Get an operation',
    description: 'How many jobs it matched, and to how many it was done.',
    input: { operation_id: id('The id of an operation.') },
    run: (client, { operation_id }) => getOperation(client, operation_id),
  }),
  tool({
    name: 'list_batches',
    title: 'List batches, newest first',
    description:
      'Jobs that belong together: how many are unfinished, completed, dead or cancelled, and what follows when all have ended.',
    input: {
      queue: Type.Optional(queueName('Only those of this queue.')),
      state: Type.Optional(oneOf(BATCH_STATES, 'Only those in this state.')),
      ...page,
    },
    run: (client, input) => listBatches(client, { limit: LIMIT, ...input }),
  }),
  tool({
    name: 'explain_batch',
    title: 'What does a batch wait for?',
    description:
      'The one reason why the batch has not ended, as a code and in words, with a job that it waits for.',
    input: { batch_id: id('The id of a batch.') },
    run: (client, { batch_id }) => explainBatch(client, batch_id),
  }),
  tool({
    name: 'list_schedules',
    title: 'List schedules by name',
    description:
      'Each enqueues a job at every tick of a cron: its next tick, and why the last one was refused.',
    input: page,
    run: (client, input) => listSchedules(client, { limit: LIMIT, ...input }),
  }),
];
