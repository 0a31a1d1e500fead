import { pause } from '../../clients/typescript/src/backoff.ts';
import { isTemporary } from '../../clients/typescript/src/errors.ts';
import { type Job, type JobState, listJobs } from '../../clients/typescript/src/generated.ts';
import { Shown, safeLine, shown } from '../shown.ts';
import { type Cli, examples, number } from './cli.ts';
import { stateOption } from './filters.ts';
import { elements, members } from './jsonText.ts';
import { checkPage } from './pages.ts';
import { checkQueue } from './queueNames.ts';
import type { Session } from './session.ts';
import { fitting } from './table.ts';
import { untilEnded } from './terminal.ts';

interface Options {
  queue?: string;
  state: JobState[];
  interval: number;
  lines: number;
}

interface Finished {
  key: string;
  job: Job;
  text: string;
}

const MOST = 1000;
const STYLE = { dead: 'red', cancelled: 'yellow', completed: 'green' } as const;

/** The jobs that have ended, of the newest ones in each state. */
async function finished(session: Session, options: Options, signal: AbortSignal): Promise<Finished[]> {
  const found: Finished[] = [];
  for (const state of options.state) {
    const { text, value } = await session.ask((caller) =>
      listJobs(caller, { queue: options.queue, state, limit: MOST, signal }),
    );
    checkPage(value);
    const texts = session.isJson ? elements(members(text)?.get('jobs') ?? '[]') : [];
    value.jobs.forEach((job, i) => {
      found.push({ job, key: `${job.id} ${job.finished_at}`, text: texts[i] ?? '' });
    });
  }
  return found.sort((a, b) => (a.job.finished_at ?? '').localeCompare(b.job.finished_at ?? ''));
}

function lineOf(job: Job, { paint, terminal }: Session): Shown {
  const at = safeLine(job.finished_at ?? '').slice(0, 24);
  const state = safeLine(job.state).slice(0, 9).padEnd(9);
  const note = job.last_error ?? (job.result === null ? '' : JSON.stringify(job.result));
  const rest = [job.queue, job.id, job.worker, note].filter(Boolean).map((text) => safeLine(text ?? ''));
  const taken = `${at}  ${state}  `.length;
  const painted = paint(STYLE[job.state as keyof typeof STYLE] ?? 'dim', state);
  return shown`${at}  ${painted}  ${new Shown(fitting(rest.join('  '), terminal.stdout, taken))}`;
}

async function tail(session: Session, options: Options): Promise<undefined> {
  if (options.queue !== undefined) await checkQueue(session, options.queue);
  const { signal, release } = untilEnded(session.terminal);
  const show = ({ job, text }: Finished) =>
    session.isJson ? session.json(text) : session.out(shown`${lineOf(job, session)}\n`);
  let seen: Set<string> | undefined;
  try {
    while (!signal.aborted) {
      try {
        const now = await finished(session, options, signal);
        const fresh = seen
          ? now.filter(({ key }) => !seen?.has(key))
          : now.slice(now.length - Math.min(options.lines, now.length));
        fresh.forEach(show);
        seen = new Set(now.map(({ key }) => key));
      } catch (error) {
        if (signal.aborted) return;
        if (seen === undefined || !isTemporary(error)) throw error;
        session.say(shown`dibs: ${(error as Error).message}. Trying again.`);
      }
      await pause(options.interval * 1000, signal);
    }
  } finally {
    release();
  }
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('tail')
      .summary('print jobs as they finish or become dead')
      .description(
        `Prints jobs as they finish or become dead, until Ctrl-C. Completed and cancelled ones can be seen only in queues that keep them: see retention_seconds. It looks at the ${MOST} newest jobs of each state, by the time of their enqueue.`,
      )
      .option('--queue <queue>', 'only those of this queue')
      .addOption(
        stateOption('only those in these states', ['completed', 'cancelled', 'dead']).default([
          'completed',
          'cancelled',
          'dead',
        ]),
      )
      .option('--lines <n>', 'how many earlier jobs to show first', number(0, MOST), 10)
      .option('--interval <seconds>', 'how often to look', number(0.2, 3600), 2)
      .action(act(tail)),
    'dibs tail --queue mail --state dead',
    'dibs tail --json | jq -r \'select(.state == "dead") | .last_error\'',
  );
}
