import { pause } from '../../clients/typescript/src/backoff.ts';
import { type ConnectionError, DibsError, isTemporary } from '../../clients/typescript/src/errors.ts';
import { getMetrics, listQueues, type Queue } from '../../clients/typescript/src/generated.ts';
import { type Cli, examples, number } from './cli.ts';
import type { Session } from './session.ts';
import { type Cell, table } from './table.ts';
import { count, lasting, untilEnded } from './terminal.ts';

const TOTALS = ['enqueued', 'acked', 'dead'] as const;
type Totals = Record<(typeof TOTALS)[number], number>;

interface Look {
  at: number;
  queues: Queue[];
  isMore: boolean;
  totals: Map<string, Totals>;
}

/** What each queue has enqueued, acked and given up, from the metrics. */
export function totalsIn(metrics: string): Map<string, Totals> {
  const found = new Map<string, Totals>();
  for (const [, what, queue = '', value] of metrics.matchAll(
    /^dibs_jobs_(enqueued|acked|dead)_total\{queue="([^"]*)"[^}]*\} (\S+)/gm,
  )) {
    const totals = found.get(queue) ?? { enqueued: 0, acked: 0, dead: 0 };
    totals[what as keyof Totals] += Number(value);
    found.set(queue, totals);
  }
  return found;
}

async function look({ client }: Session): Promise<Look> {
  const [page, metrics] = await Promise.all([
    listQueues(client, { limit: 1000 }),
    // Rates are an extra. A key may look at queues and not at metrics.
    getMetrics(client).catch((error) => {
      if (error instanceof DibsError) return '';
      throw error;
    }),
  ]);
  return {
    at: performance.now(),
    queues: page.queues,
    isMore: page.next_cursor !== null,
    totals: totalsIn(metrics),
  };
}

function rateOf(queue: string, what: keyof Totals, now: Look, before?: Look): number | undefined {
  const [to, from] = [now.totals.get(queue)?.[what], before?.totals.get(queue)?.[what]];
  if (!before || to === undefined || from === undefined) return undefined;
  return Math.max(0, to - from) / ((now.at - before.at) / 1000);
}

const rateText = (rate: number | undefined) => (rate === undefined ? '' : rate.toFixed(rate < 10 ? 1 : 0));

/** The worse, the further up: more jobs die, nobody may claim what waits, the oldest waits long. */
function badness(queue: Queue, now: Look, before?: Look): number[] {
  return [
    rateOf(queue.name, 'dead', now, before) ?? 0,
    queue.paused && queue.counts.ready > 0 ? 1 : 0,
    queue.oldest_ready_age_seconds ?? -1,
    queue.counts.dead,
  ];
}

const worseFirst = (a: number[], b: number[]) =>
  a.map((value, i) => (b[i] ?? 0) - value).find((difference) => difference !== 0) ?? 0;

const HEADINGS = ['QUEUE', 'READY', 'SCHEDULED', 'BLOCKED', 'LEASED', 'DEAD', 'OLDEST', 'IN/S', 'DONE/S', ''];

export function frame(session: Session, now: Look, before?: Look): string {
  const { columns, rows } = session.terminal.stdout;
  const sorted = now.queues
    .map((queue) => ({ queue, badness: badness(queue, now, before) }))
    .sort((a, b) => worseFirst(a.badness, b.badness));
  const sum = (state: 'ready' | 'leased' | 'dead') =>
    count(now.queues.reduce((all, { counts }) => all + counts[state], 0));
  const shown = sorted.slice(0, Math.max(1, (rows ?? Number.POSITIVE_INFINITY) - 4));
  const row = ({ queue }: { queue: Queue }): Cell[] => [
    queue.name,
    queue.counts.ready,
    queue.counts.scheduled,
    queue.counts.blocked,
    queue.counts.leased,
    queue.counts.dead,
    queue.oldest_ready_age_seconds === null ? '' : lasting(queue.oldest_ready_age_seconds),
    rateText(rateOf(queue.name, 'enqueued', now, before)),
    rateText(rateOf(queue.name, 'acked', now, before)),
    queue.paused ? 'paused' : '',
  ];
  const hidden = sorted.length - shown.length;
  const more = hidden > 0 || now.isMore ? ` (${count(shown.length)} shown, the worst first)` : '';
  const head = `${session.client.url}  ${count(sorted.length)}${now.isMore ? '+' : ''} queues${more}: ${sum('ready')} ready, ${sum('leased')} leased, ${sum('dead')} dead`;
  const line = columns ? head.slice(0, columns) : head;
  return `${line}\n\n${table(HEADINGS, shown.map(row), session.terminal.stdout, session.paint)}`;
}

/** q, Ctrl-C, Ctrl-D. */
const END_KEYS = ['q', 'Q', '\u0003', '\u0004'];

async function live(session: Session, seconds: number): Promise<void> {
  const { stdin, stdout } = session.terminal;
  const { signal, end, release } = untilEnded(session.terminal);
  const onKey = (key: Buffer | string) => {
    if (END_KEYS.some((one) => String(key).includes(one))) end();
  };
  const draw = (text: string) => stdout.write(`\x1b[H${text.replaceAll('\n', '\x1b[K\n')}\x1b[J`);
  // The screen is another one meanwhile: what stood there comes back.
  stdout.write('\x1b[?1049h\x1b[?25l');
  stdin.setRawMode?.(true);
  stdin.on('data', onKey);
  stdin.resume();
  try {
    let before: Look | undefined;
    while (!signal.aborted) {
      try {
        const now = await look(session);
        draw(`${frame(session, now, before)}q ends`);
        before = now;
      } catch (error) {
        if (!isTemporary(error)) throw error;
        draw(`${(error as ConnectionError).message}\nTrying again. q ends`);
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
  if (session.isJson)
    session.out(`${(await session.ask((caller) => listQueues(caller, { limit: 1000 }))).text.trimEnd()}\n`);
  else if (options.once || !stdout.isTTY || !stdin.isTTY) session.out(frame(session, await look(session)));
  else await live(session, options.interval);
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('top')
      .summary('watch the queues, the worst first')
      .description(
        'Shows the queues, and again every few seconds: the worst first, with what comes in and what gets done each second. "q" ends it. Where there is no terminal, it shows them once.',
      )
      .option('--interval <seconds>', 'how often', number(0.2, 3600), 2)
      .option('--once', 'show them once')
      .action(act(top)),
    'dibs top',
  );
}
