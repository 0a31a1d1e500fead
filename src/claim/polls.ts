import { isOutage } from '../errors.ts';
import { type ClaimDatabase, type ClaimPlaces, placeOf } from './claimPlaces.ts';
import { groupBy } from './groupBy.ts';
import { AT_ONCE } from './paces.ts';
import { MOMENTS, type WaitLine, type WaitLines } from './waitLine.ts';

/**
 * Waiting claims look this often without being woken: a notification may have been lost. So they also notice an outage.
 */
const POLL_MS = 1000;

const momentNow = () => Math.floor((performance.now() * MOMENTS) / POLL_MS);

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

interface Context {
  lines: WaitLines;
  /** A line looks, in whichever database its queue is. */
  ask(line: WaitLine): void;
  look(line: WaitLine): Promise<void> | undefined;
  fail(line: WaitLine, error: unknown): void;
  places: ClaimPlaces;
}

/** The lines of a database that look in the same moment. */
interface MomentLines {
  moment: number;
  all(): WaitLine[];
}

/** The looks at the queues of one database. */
function createDatabasePolls(database: ClaimDatabase, { lines, ask, look, fail, places }: Context) {
  const isHere = ({ name }: WaitLine) => placeOf(places, name) === database;
  const moments = Array.from(
    { length: MOMENTS },
    (_, moment): MomentLines => ({ moment, all: () => [...lines.ofMoment(moment)].filter(isHere) }),
  );
  /** The moments whose lines look for their queues right now. */
  const asking = new Set<MomentLines>();

  /** Looks for the queues of all lines of a moment, with one statement. Those whose queue exists then look for jobs. */
  async function lookForQueues(moment: MomentLines, asked: WaitLine[]): Promise<void> {
    asking.add(moment);
    const names = asked.map(({ name }) => name);
    const existing = await database.queues.refresh(names).finally(() => asking.delete(moment));
    const isSomewhere = (line: WaitLine) => !line.missing || existing.has(line.name);
    for (const line of asked) if (isSomewhere(line)) looks.ask(line);
    if (places.find)
      await lookElsewhere(
        asked.filter((line) => !isSomewhere(line)),
        places.find,
      );
  }

  /** These queues are not here. Looks whether they are in other databases by now. */
  async function lookElsewhere(asked: WaitLine[], find: NonNullable<ClaimPlaces['find']>): Promise<void> {
    // If `home` is away, the lines that look there find it out.
    const found = await Promise.all(asked.map(({ name }) => find(name).catch(() => undefined)));
    for (const [i, line] of asked.entries()) if (found[i] && found[i] !== database) ask(line);
  }

  const looks = createLooks<WaitLine | MomentLines>({
    look(what) {
      if (!('all' in what)) return look(what);
      if (asking.has(what)) return undefined;
      const asked = what.all();
      return asked.length > 0 ? lookForQueues(what, asked) : undefined;
    },
    fail(what, error) {
      for (const line of 'all' in what ? what.all() : [what]) fail(line, error);
    },
  });

  return {
    ask: looks.ask,
    askMoment: (moment: number): void => looks.ask(moments[moment % MOMENTS] as MomentLines),
  };
}

/**
 * The looks of claims that nobody woke: each wait line looks once a second, in its moment. While a database rests
 * (src/maintenance/rest.ts), none does there. Nothing is done anywhere then, and no notification can be lost.
 */
export function createPolls(options: Omit<Context, 'ask'>) {
  const { lines, places } = options;
  const ask = (line: WaitLine): void => pollsOf(placeOf(places, line.name)).ask(line);
  const polls = new Map<ClaimDatabase, ReturnType<typeof createDatabasePolls>>();
  function pollsOf(database: ClaimDatabase) {
    let own = polls.get(database);
    if (!own) {
      own = createDatabasePolls(database, { ...options, ask });
      polls.set(database, own);
    }
    return own;
  }

  function renewInterest(): void {
    const waited = lines.all().filter(({ missing }) => !missing);
    for (const [{ notifier }, own] of groupBy(waited, ({ name }) => placeOf(places, name)))
      notifier.waiting(own.map(({ name }) => name));
  }

  let moment = momentNow();
  function passMoments(): void {
    const awake = places.all().filter((database) => database.isAwake());
    // A busy process may have missed some moments.
    for (const now = momentNow(); moment < now; moment++) {
      if (moment % MOMENTS === 0) renewInterest();
      for (const database of awake) pollsOf(database).askMoment(moment);
    }
  }
  const timer = setInterval(passMoments, POLL_MS / MOMENTS);
  timer.unref();

  return {
    /** A line looks, as soon as there is a place. */
    ask,

    /** All lines look, as soon as there are places. */
    askAll(): void {
      for (let moment = 0; moment < MOMENTS; moment++)
        for (const database of places.all()) pollsOf(database).askMoment(moment);
    },

    stop: (): void => clearInterval(timer),
  };
}
