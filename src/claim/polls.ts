import { isOutage } from '../errors.ts';
import type { Queues } from '../queues/cache.ts';
import type { Notifier } from '../replicas/notifier.ts';
import { MOMENTS, type WaitLine, type WaitLines } from './waitLine.ts';

/**
 * Waiting claims look this often without being woken: a notification may have been lost. So they also notice an outage.
 */
const POLL_MS = 1000;

const momentNow = () => Math.floor((performance.now() * MOMENTS) / POLL_MS);

/** This number of looks runs at once. The other connections serve the other verbs. */
export const AT_ONCE = 3;

/**
 * Runs looks that nobody woke: AT_ONCE at a time, in the order in which they were asked for. `Lines` is who looks: a
 * wait line, or several together. `look` returns undefined when there is nothing to look for. In an outage, `fail` is
 * called for all that wait for their look. Otherwise they would find out one after the other, and each only after a
 * time limit.
 */
function createLooks<Lines extends object>(context: {
  look(lines: Lines): Promise<void> | undefined;
  fail(lines: Lines, outage: unknown): void;
}) {
  const { look, fail } = context;
  const waiting = new Set<Lines>();
  let running = 0;
  /** How many looks in a row have met an outage. */
  let failures = 0;
  /** The lines of those looks that were not told of it yet. */
  const met = new Set<Lines>();

  async function run(lines: Lines, looking: Promise<void>): Promise<void> {
    running++;
    try {
      await looking;
      failures = 0;
      met.clear();
    } catch (error) {
      if (!isOutage(error)) {
        fail(lines, error);
        return;
      }
      met.add(lines);
      // One look may only have waited too long for a connection. The next looks show whether it is an outage.
      if (++failures < AT_ONCE && running + waiting.size >= AT_ONCE) return;
      const failed = [...met, ...waiting];
      met.clear();
      waiting.clear();
      for (const each of failed) fail(each, error);
    } finally {
      running--;
      next();
    }
  }

  function next(): void {
    for (const lines of waiting) {
      if (running >= AT_ONCE) return;
      waiting.delete(lines);
      const looking = look(lines);
      if (looking) void run(lines, looking);
    }
  }

  return {
    /** They look, as soon as there is a place. */
    ask(lines: Lines): void {
      waiting.add(lines);
      next();
    },
  };
}

/**
 * The looks of claims that nobody woke: each wait line looks once a second, in its moment. While the replica rests
 * (src/maintenance/rest.ts), none does. Nothing is done anywhere then, and no notification can be lost.
 */
export function createPolls(context: {
  lines: WaitLines;
  look(line: WaitLine): Promise<void> | undefined;
  fail(line: WaitLine, error: unknown): void;
  queues: Queues;
  notifier: Notifier;
  isAwake(): boolean;
}) {
  const { lines, look, fail, queues, notifier, isAwake } = context;
  /** The moments whose lines look for their queues right now. */
  const asking = new Set<Set<WaitLine>>();

  /** Looks for the queues of all lines of a moment, with one statement. Those whose queue exists then look for jobs. */
  async function lookForQueues(moment: Set<WaitLine>): Promise<void> {
    const asked = [...moment];
    asking.add(moment);
    const existing = await queues.refresh(asked.map(({ name }) => name)).finally(() => asking.delete(moment));
    for (const line of asked) if (!line.missing || existing.has(line.name)) looks.ask(line);
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

  function renewInterest(): void {
    const waited = lines.all().filter(({ missing }) => !missing);
    if (waited.length > 0) notifier.waiting(waited.map(({ name }) => name));
  }

  let moment = momentNow();
  function passMoments(): void {
    const isUp = isAwake();
    // A busy process may have missed some moments.
    for (const now = momentNow(); moment < now; moment++) {
      if (moment % MOMENTS === 0) renewInterest();
      if (isUp) looks.ask(lines.ofMoment(moment));
    }
  }
  const timer = setInterval(passMoments, POLL_MS / MOMENTS);
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
