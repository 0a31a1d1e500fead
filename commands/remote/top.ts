import { pause } from '../../clients/typescript/src/backoff.ts';
import { isTemporary } from '../../clients/typescript/src/errors.ts';
import { getOverview, type Overview, type QueueOverview } from '../../clients/typescript/src/generated.ts';
import { troubleTitle } from '../../src/verbs/counting.ts';
import { count, counted } from '../counted.ts';
import { Shown, shown } from '../shown.ts';
import { type Cli, examples, number } from './cli.ts';
import type { Session } from './session.ts';
import { type Cell, table } from './table.ts';
import { lasting, untilEnded } from './terminal.ts';

/** Lines of a frame that are no queue. */
const OTHER_LINES = 4;
const MOST = 1000;

const HEADINGS = [
  'QUEUE',
  'READY',
  'SCHEDULED',
  'BLOCKED',
  'LEASED',
  'DEAD',
  'OLDEST',
  'ENQUEUED/S',
  'COMPLETED/S',
  '',
];

const rateText = (rate: number | undefined) => (rate === undefined ? '' : rate.toFixed(rate < 10 ? 1 : 0));
const ageText = (seconds: number | null) => (seconds === null ? '' : lasting(seconds));

const rowOf = ({ name, counts, per_second, ...queue }: QueueOverview): Cell[] => [
  name,
  counts?.ready,
  counts?.scheduled,
  counts?.blocked,
  counts?.leased,
  counts?.dead,
  ageText(queue.oldest_ready_age_seconds),
  rateText(per_second?.enqueued),
  rateText(per_second?.acked),
  queue.troubles.map(troubleTitle).join(', '),
];

function frame({ client, terminal, paint }: Session, overview: Overview): Shown {
  const { stdout } = terminal;
  const { complete, counts, per_second, total, troubled, queues } = overview;
  const some = queues.length < total ? ` (${count(queues.length)} shown, the worst first)` : '';
  const uncounted = complete ? '' : ' (not all counted yet)';
  const head = shown`${client.url}  ${counted(total, 'queue')}${some}, ${count(troubled)} with trouble: ${count(counts.ready)} ready, ${count(counts.leased)} leased, ${count(counts.dead)} dead${uncounted}, ${rateText(per_second.enqueued)}/s enqueued, ${rateText(per_second.acked)}/s completed`;
  const line = stdout.columns ? new Shown(head.text.slice(0, stdout.columns)) : head;
  const rows = queues.length > 0 ? table(HEADINGS, queues.map(rowOf), stdout, paint) : shown`No queues.\n`;
  return shown`${line}\n\n${rows}`;
}

/** As many queues as fit. */
const limitOf = (rows: number | undefined) => Math.min(MOST, Math.max(1, (rows || MOST) - OTHER_LINES));

/** q, Ctrl-C, Ctrl-D. */
const END_KEYS = ['q', 'Q', '\u0003', '\u0004'];

async function live(session: Session, seconds: number): Promise<void> {
  const { stdin, stdout } = session.terminal;
  const { signal, end, release } = untilEnded(session.terminal);
  const onKey = (key: Buffer | string) => {
    if (END_KEYS.some((one) => String(key).includes(one))) end();
  };
  const draw = ({ text }: Shown) => stdout.write(`\x1b[H${text.replaceAll('\n', '\x1b[K\n')}\x1b[K\x1b[J`);
  // The screen is another one meanwhile: what stood there comes back.
  stdout.write('\x1b[?1049h\x1b[?25l');
  stdin.setRawMode?.(true);
  stdin.on('data', onKey);
  stdin.resume();
  try {
    while (!signal.aborted) {
      try {
        const overview = await getOverview(session.client, { limit: limitOf(stdout.rows), signal });
        draw(shown`${frame(session, overview)}q ends`);
      } catch (error) {
        if (signal.aborted) return;
        if (!isTemporary(error)) throw error;
        draw(shown`${(error as Error).message}\nTrying again. q ends`);
      }
      await pause(seconds * 1000, signal);
    }
  } finally {
    release();
    stdin.off('data', onKey);
    stdin.setRawMode?.(false);
    stdin.pause();
    stdout.write('\x1b[?25h\x1b[?1049l');
  }
}

async function top(session: Session, options: { interval: number; once?: boolean }): Promise<undefined> {
  const { stdin, stdout } = session.terminal;
  const isLive = !session.isJson && !options.once && stdout.isTTY && stdin.isTTY;
  if (isLive) await live(session, options.interval);
  else
    session.show(await session.ask((caller) => getOverview(caller, { limit: MOST })), (overview) =>
      frame(session, overview),
    );
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('top')
      .summary('watch the queues, the worst first')
      .description(
        'Shows the queues, and again every few seconds: the worst first, with what is wrong, and how many jobs are enqueued and completed each second. "q" ends it. Where there is no terminal, it shows them once.',
      )
      .option('--interval <seconds>', 'how often', number(0.2, 3600), 2)
      .option('--once', 'show them once')
      .action(act(top)),
    'dibs top',
  );
}
