import { pause } from '../../clients/typescript/src/backoff.ts';
import {
  getOperation,
  type Operation,
  type OperationRequest,
  startOperation,
} from '../../clients/typescript/src/generated.ts';
import { count, counted } from '../counted.ts';
import { safeLine, shown } from '../shown.ts';
import { STATUS } from './cli.ts';
import type { Answer, Session } from './session.ts';

const LOOK_MS = 500;

const MATCH = { one: 'matches', many: 'match' };
const DONE = {
  cancel: 'cancelled',
  retry: 'made ready again',
  delete: 'deleted',
  move: 'moved',
  relocate: 'relocated',
} as const;

/** "120 of 500 jobs deleted, 3 skipped" */
export function operationText(operation: Operation): string {
  const { verb, done, matched, skipped, dry_run, error } = operation;
  const isCounting = operation.counted ? '' : ', still counting';
  const why = error ? `: ${error}` : '';
  if (dry_run) return `${counted(matched, 'job', MATCH)}${isCounting}${why}`;
  const left = skipped > 0 ? `, ${count(skipped)} skipped` : '';
  return `${count(done)} of ${counted(matched)} ${DONE[verb]}${left}${isCounting}${why}`;
}

/** ", and calls for the queue wait for up to 3.4 s" */
export const heldText = ({ hold_seconds }: Operation): string =>
  hold_seconds === null ? '' : `, and calls for the queue wait for up to ${hold_seconds} s`;

/** Operates on the jobs that a filter finds. */
export const operateOn = (
  session: Session,
  request: OperationRequest,
  what: string,
  options: ActOptions,
): Promise<number> =>
  operate(
    session,
    {
      what,
      question: ({ matched }) => `${what} ${counted(matched, 'job', MATCH)}.`,
      start: (dry_run) =>
        session.ask((caller) => startOperation(caller, dry_run ? { ...request, dry_run } : request)),
    },
    options,
  );

/** Waits for the end of an operation. A terminal shows how far it is. */
export async function ended(session: Session, first: Answer<Operation>): Promise<Answer<Operation>> {
  const { stderr } = session.terminal;
  let latest = first;
  for (let ms = 20; latest.value.state === 'running'; ms = Math.min(LOOK_MS, ms * 2)) {
    if (stderr.isTTY) stderr.write(`\r\x1b[K${safeLine(operationText(latest.value))}`);
    await pause(ms);
    latest = await session.ask((caller) => getOperation(caller, first.value.id));
  }
  if (stderr.isTTY) stderr.write('\r\x1b[K');
  return latest;
}

export const statusOfOperation = ({ state }: Operation): number =>
  state === 'failed' ? STATUS.failed : STATUS.done;

export interface ActOptions {
  yes?: boolean;
  dryRun?: boolean;
  detach?: boolean;
}

/** What is done, to some jobs or to a whole queue. */
interface Act {
  start(dry_run: boolean): Promise<Answer<Operation>>;
  what: string;
  /** The question, when a dry run has counted. */
  question(counted: Operation): string;
  /** There is something to do without any job, too. */
  evenWithout?: boolean;
}

/**
 * Counts the jobs, asks, does it to them, and waits for the end. The question has the number: people see what they are
 * about to do.
 */
export async function operate(
  session: Session,
  { start, what, question, evenWithout = false }: Act,
  options: ActOptions,
): Promise<number> {
  if (options.dryRun || !options.yes) {
    // Where nobody can be asked, nothing is counted either.
    if (!options.dryRun && !session.terminal.stdin.isTTY) await session.confirm(shown`${what}`, options);
    const look = await ended(session, await start(true));
    const { matched, state } = look.value;
    if (options.dryRun || state !== 'done') {
      session.show(look, (operation) => shown`${operationText(operation)}${heldText(operation)}.\n`);
      return statusOfOperation(look.value);
    }
    if (matched === 0 && !evenWithout) {
      session.show(look, () => shown`No job matches: nothing was done.\n`);
      return STATUS.done;
    }
    await session.confirm(shown`${question(look.value)}`, options);
  }
  const started = await start(false);
  const last = options.detach ? started : await ended(session, started);
  session.show(last, (operation) =>
    options.detach
      ? shown`${operation.id}\n`
      : shown`${operationText(operation)} (operation ${operation.id}).\n`,
  );
  return statusOfOperation(last.value);
}
