import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { createLooks } from './looks.ts';
import { MOMENTS, type WaitLine, type WaitLines } from './waitLine.ts';

/** Waiting claims look this often without being woken, in case a notification was lost. An outage shows as soon. */
const POLL_MS = 1000;

const momentNow = () => Math.floor((performance.now() * MOMENTS) / POLL_MS);

/** The looks of claims that nobody woke: each wait line looks once a second, in its moment. */
export function createPolls(context: {
  lines: WaitLines;
  look(line: WaitLine): Promise<void> | undefined;
  fail(line: WaitLine, error: unknown): void;
  queues: Queues;
  notifier: Notifier;
}) {
  const { lines, look, fail, queues, notifier } = context;
  /** The moments at which a look-up of queues is under way. */
  const asking = new Set<Set<WaitLine>>();

  /** One statement asks for the queues of all lines of a moment. */
  async function lookForQueues(moment: Set<WaitLine>): Promise<void> {
    const asked = [...moment];
    asking.add(moment);
    const existing = await queues.refresh(asked.map(({ name }) => name)).finally(() => asking.delete(moment));
    for (const line of asked) {
      if (line.missing && !existing.has(line.name)) continue;
      notifier.waiting(line.name);
      looks.ask(line);
    }
  }

  const looks = createLooks<WaitLine | Set<WaitLine>>({
    look(what) {
      if (!(what instanceof Set)) return look(what);
      return what.size > 0 && !asking.has(what) ? lookForQueues(what) : undefined;
    },
    fail(what, error) {
      for (const line of what instanceof Set ? what : [what]) fail(line, error);
    },
  });

  let moment = momentNow();
  const timer = setInterval(() => {
    // A busy process may have missed some moments.
    for (const now = momentNow(); moment < now; moment++) looks.ask(lines.ofMoment(moment));
  }, POLL_MS / MOMENTS);
  timer.unref();

  return {
    /** A line looks, as soon as there is a place. */
    ask: (line: WaitLine): void => looks.ask(line),

    /** All lines look, as soon as there is a place. */
    askAll(): void {
      for (let moment = 0; moment < MOMENTS; moment++) looks.ask(lines.ofMoment(moment));
    },

    stop: (): void => clearInterval(timer),
  };
}
