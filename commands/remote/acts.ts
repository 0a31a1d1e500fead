import type { Command } from 'commander';
import { ConnectionError, DibsError } from '../../clients/typescript/src/errors.ts';
import {
  cancelJob,
  type Job,
  type JobState,
  type OperationRequest,
  retryJob,
} from '../../clients/typescript/src/generated.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, STATUS, statusOf } from './cli.ts';
import { type FilterOptions, filterOf, filterText, stateOption, withFilter } from './filters.ts';
import { type ActOptions, operateOn } from './operation.ts';
import type { Answer, Session } from './session.ts';

interface Options extends FilterOptions, ActOptions {
  queue?: string;
  state?: JobState[];
}

/** The states that each verb may take, and those that it takes when none are named. */
const TAKES: Record<OperationRequest['verb'], { may: JobState[]; default?: JobState[] }> = {
  cancel: {
    may: ['scheduled', 'ready', 'blocked', 'leased', 'dead'],
    default: ['scheduled', 'ready', 'blocked'],
  },
  retry: { may: ['dead', 'scheduled'], default: ['dead'] },
  delete: { may: ['scheduled', 'ready', 'blocked', 'completed', 'cancelled', 'dead'] },
  move: { may: ['scheduled', 'ready', 'blocked', 'dead'], default: ['scheduled', 'ready', 'blocked'] },
};

const WORDS = {
  cancel: (jobs: string) => `This cancels the ${jobs}.`,
  retry: (jobs: string) => `This makes the ${jobs} ready again.`,
  delete: (jobs: string) => `This deletes the ${jobs}, for ever.`,
  move: (jobs: string, to = '') => `This moves the ${jobs} to queue "${to}". They get other ids.`,
};

function byFilter(
  session: Session,
  verb: OperationRequest['verb'],
  queue: string,
  options: Options,
  to?: string,
): Promise<number> {
  const states = options.state ?? TAKES[verb].default;
  if (!states) throw new UsageError(`dibs ${verb} needs --state: the states of the jobs.`);
  const jobs = `${states.join(', ')} jobs of queue "${queue}"${filterText(options)}`;
  const request: OperationRequest = { verb, queue, to, filter: { states, ...filterOf(options) } };
  return operateOn(session, request, WORDS[verb](jobs, to), options);
}

/** One by one. What is wrong with one does not keep it from the others. */
async function byId(
  session: Session,
  ids: string[],
  act: (id: string) => Promise<Answer<Job>>,
): Promise<number> {
  let status: number = STATUS.done;
  for (const id of ids) {
    try {
      session.show(await act(id), (job) => shown`${job.id} is ${job.state}.\n`);
    } catch (error) {
      if (!(error instanceof DibsError || error instanceof ConnectionError)) throw error;
      status = statusOf(error, session.terminal) ?? STATUS.failed;
      if (status === STATUS.unreachable) return status;
    }
  }
  return status;
}

const either =
  (verb: 'cancel' | 'retry', one: typeof cancelJob) =>
  async (session: Session, options: Options, ids: string[]): Promise<number> => {
    if (ids.length > 0 === (options.queue !== undefined))
      throw new UsageError(`dibs ${verb} takes ids of jobs, or --queue with a filter.`);
    if (options.queue !== undefined) return byFilter(session, verb, options.queue, options);
    const given = Object.entries({ ...filterOf(options), state: options.state }).some(
      ([, value]) => value !== undefined,
    );
    if (given) throw new UsageError('A filter goes with --queue, not with ids.');
    return byId(session, ids, (id) => session.ask((caller) => one(caller, id)));
  };

const remove = (session: Session, options: Options, queue: string) =>
  byFilter(session, 'delete', queue, options);

const move = (session: Session, options: Options, from: string, to: string) =>
  byFilter(session, 'move', from, options, to);

const withAct = (command: Command, verb: OperationRequest['verb']): Command => {
  const { may, default: usual } = TAKES[verb];
  const text = usual ? `in these states (${usual.join(', ')})` : 'in these states';
  return withFilter(command.addOption(stateOption(text, may)))
    .option('--dry-run', 'only count them')
    .option('--detach', 'print the id of the operation, and do not wait for its end')
    .option('--yes', 'do not ask');
};

const COUNTED =
  'It counts the jobs first, and asks. It runs in the background, also after this command has ended: see `dibs operations`.';

export function add({ program, act }: Cli): void {
  examples(
    withAct(
      program
        .command('retry [ids...]')
        .summary('make dead or scheduled jobs ready')
        .description(
          `Makes dead or scheduled jobs ready, with their attempts reset to 0: those of the ids, or with --queue all that match.\n\nWith --queue: ${COUNTED}`,
        )
        .option('--queue <queue>', 'all jobs of this queue that match'),
      'retry',
    ).action(act(either('retry', retryJob))),
    'dibs retry 01a1f5c2-77aa-7000-8000-0000000000c1',
    'dibs retry --queue mail --error-contains "SMTP 421"',
  );
  examples(
    withAct(
      program
        .command('cancel [ids...]')
        .summary('cancel jobs')
        .description(
          `Cancels jobs: those of the ids, or with --queue all that match. A leased job stays with its worker, which is told.\n\nWith --queue: ${COUNTED}`,
        )
        .option('--queue <queue>', 'all jobs of this queue that match'),
      'cancel',
    ).action(act(either('cancel', cancelJob))),
    'dibs cancel 01a1f5c2-77aa-7000-8000-0000000000c1',
    'dibs cancel --queue mail --group customer-7 --dry-run',
  );
  examples(
    withAct(
      program
        .command('delete <queue>')
        .summary('delete jobs that match')
        .description(`Deletes the jobs of a queue that match. ${COUNTED}`),
      'delete',
    ).action(act(remove)),
    'dibs delete mail --state dead --created-before 2026-11-01T00:00:00Z',
  );
  examples(
    withAct(
      program
        .command('move <from> <to>')
        .summary('move jobs to another queue')
        .description(
          `Moves the jobs of a queue that match to another one, which must exist. They get other ids. ${COUNTED}`,
        ),
      'move',
    ).action(act(move)),
    'dibs move mail mail-slow --state ready --fairness-key customer-7',
  );
}
