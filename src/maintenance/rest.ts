import { createNextLook, type NextDue } from './nextLook.ts';
import { createStages, type Stages, type Times } from './stages.ts';

/*
 * When the duties of a replica run, and when they rest. A replica is
 *
 *   awake   Something was done here, or on another replica, in the last AWAKE_MS. All duties run at their periods. A
 *           replica that hears no notifications is always awake: nobody can tell it what becomes due.
 *   dozing  Its duties rest. One statement every LOOK_MS, the due look, tells what is due and when something is next: a
 *           lease that ends, a `run_at`, an `expires_at`, a tick, a retention, an operation, a relocation, a
 *           batch. What is due is done at once.
 *   asleep  Nobody asked for ASLEEP_MS. It sends nothing until the next time that it knows of.
 *
 * The replicas share the due looks. The replica that looks tells the others in the same statement, by NOTIFY. Then they
 * look later. The replica that looked last leads: its next look comes first. No row and no lock says who leads. If the
 * leader is killed, it tells nothing any more. Then another replica looks, LOOK_MS later or when something is due.
 *
 * A replica that begins to do something tells the others (`active`), and they are awake along with it. So if it is
 * killed, what it leaves behind is found as quickly as always. A replica that was asleep tells them before it does
 * anything. See docs/decisions/0065-duties-rest.md.
 */

/** While things are done, the replicas tell each other so this often. */
const TELL_MS = 2000;
/**
 * The others must stay awake for this long after anything is done here. If they would not, they are told before it is
 * done.
 */
const STAY_AWAKE_MS = 2000;
/**
 * A request waits no longer than this for the others to be told. If the database does not answer, there is time left to
 * say so.
 */
const TOLD_WITHIN_MS = 1000;
/** A rest is divided into steps of this length. After a step in which the clock was set, it looks at once. */
const STEP_MS = 1000;
/** The clock was set if it differs by more than this from what was expected. */
const CLOCK_SET_MS = 500;

const now = () => performance.now();

/** The duties, as far as a rest concerns them. */
interface Duties {
  /** The replica is awake again. */
  resume(): void;
  /** Runs a duty that is due. */
  runDue(name: string): Promise<void> | undefined;
  /** How long until a duty may run again by its own period. */
  leftMs(name: string): number;
  /** A notification may be lost. So every claim and client that waits here looks once. */
  lookAnywhere(): void;
}

interface Context {
  /** The due look: tells what is next, here and to the other replicas. */
  look(): Promise<NextDue[]>;
  /** Tells the other replicas that this one is active. */
  tell(): Promise<unknown>;
  /** Whether notifications arrive. */
  hears(): boolean;
  log: (error: unknown, message: string) => void;
  times?: Partial<Times> | undefined;
}

/** Tells whether the clock was set since it was asked last. */
function clockWatch(): () => boolean {
  let offset = Date.now() - now();
  return () => {
    const before = offset;
    offset = Date.now() - now();
    return Math.abs(offset - before) > CLOCK_SET_MS;
  };
}

const soonest = (found: NextDue[]) => Math.min(...found.map(({ in_ms }) => in_ms));

/** Looks for what is due while the replica rests, step by step. */
function startSteps(
  { look, hears, log }: Context,
  stages: Stages,
  next: ReturnType<typeof createNextLook>,
  duties: () => Duties,
) {
  const isClockSet = clockWatch();
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function lookNow(): Promise<void> {
    const began = now();
    const found = await look();
    const { leftMs, runDue, lookAnywhere } = duties();
    if (next.looked(soonest(found), now() - began)) lookAnywhere();
    const left = found.map(({ duty, in_ms }) => ({ duty, ms: Math.max(in_ms, leftMs(duty)) }));
    const due = left.filter(({ ms }) => ms <= 0);
    await Promise.all(due.map(({ duty }) => runDue(duty)));
    // The next look shows what is left of it, and what comes next.
    next.dueIn(due.length > 0 ? 0 : Math.min(...left.map(({ ms }) => ms)));
  }

  /**
   * When a look fails, the replica wakes. Then its duties find what is due, as they do where no notifications arrive.
   */
  async function lookOrWake(): Promise<void> {
    try {
      await lookNow();
    } catch (error) {
      log(error, 'it is not known what is due, the duties look for it');
      stages.active();
    }
  }

  /**
   * While no notifications arrive, it looks all the same. Each look sends a notification, and if that comes back, they
   * arrive again.
   */
  async function step(): Promise<void> {
    const isAwake = stages.isAwake();
    if (isAwake && !stages.isQuiet()) return;
    if (isAwake && hears()) {
      stages.doze();
      next.begin();
    } else if (!isAwake && !hears()) stages.wake();
    else if (isClockSet() || now() >= next.at(stages.isAsleep() && !isAwake)) {
      looking = lookOrWake();
      await looking;
      looking = undefined;
    }
  }

  function plan(): void {
    clearTimeout(timer);
    if (stopped || looking) return;
    const leftMs = stages.isAwake() ? STEP_MS : next.at(stages.isAsleep()) - now();
    timer = setTimeout(() => void step().finally(plan), Math.max(0, Math.min(leftMs, STEP_MS)));
    timer.unref();
  }
  plan();

  return {
    plan,
    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}

/** Settles with the work, or after `ms`. */
const atMost = (ms: number, work: Promise<unknown>): Promise<void> =>
  new Promise((resolve) => {
    const late = setTimeout(resolve, ms);
    const done = () => {
      clearTimeout(late);
      resolve();
    };
    work.then(done, done);
  });

export function createRest(context: Context) {
  let duties: Duties = {
    resume: () => undefined,
    runDue: () => undefined,
    leftMs: () => 0,
    lookAnywhere: () => undefined,
  };
  const stages = createStages(context.times ?? {}, () => duties.resume());
  const next = createNextLook(now);
  const steps = startSteps(context, stages, next, () => duties);
  /** When the replicas last told each other that something is done. */
  let toldAt = Number.NEGATIVE_INFINITY;
  let telling: Promise<void> | undefined;

  /** Something is done here. Returns a promise while the others must be told first. */
  function active(): Promise<void> | undefined {
    const wereToldMs = now() - toldAt;
    stages.active();
    if (wereToldMs < TELL_MS) return telling;
    toldAt = now();
    const told = context.tell();
    if (wereToldMs > stages.awakeMs - STAY_AWAKE_MS)
      telling = atMost(TOLD_WITHIN_MS, told).finally(() => {
        telling = undefined;
      });
    return telling;
  }

  return {
    isAwake: stages.isAwake,

    /** Whether this replica looked last for what is due, and does not sleep. */
    leads: () => next.leads() && !stages.isAsleep(),

    /** For how long nothing was done, here or on another replica. */
    quietMs: stages.quietMs,

    /** When its last doze began. */
    dozesFrom: stages.dozesFrom,

    /**
     * For how many of the milliseconds since `at` it dozed or slept. It knew at that time what was due, and missed
     * nothing.
     */
    dozedSince: stages.dozedSince,

    /** The duties that it wakes, and runs when they are due. */
    begin(to: Duties): void {
      duties = to;
    },

    /**
     * Somebody asks for something. `makesDue`: it may make something due. Returns a promise while the other replicas
     * must be told first.
     */
    asked(makesDue: boolean): Promise<void> | undefined {
      const wasAsleep = stages.isAsleep();
      stages.asked();
      return makesDue || wasAsleep ? active() : undefined;
    },

    /** Something was done that may make something due. */
    active: (): void => void active(),

    /** It does not begin to rest in the next AWAKE_MS. */
    stayAwake: (): void => void stages.active(),

    /** Another replica, or SQL, does something. All replicas hear it. */
    heardActive(): void {
      toldAt = stages.active();
    },

    /** Another replica has looked: something is due in so many milliseconds, or nothing. */
    heardLook(looker: string, inMs: number | undefined): void {
      if (next.heard(looker, inMs)) duties.lookAnywhere();
      steps.plan();
    },

    stop: steps.stop,
  };
}

export type Rest = ReturnType<typeof createRest>;
