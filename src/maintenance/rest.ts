import { createNextLook, type NextDue } from './nextLook.ts';

/*
 * When the duties of a replica run, and when they rest. A replica is
 *
 *   awake   Something was done here, or on another replica, in the last AWAKE_MS. All duties run at their periods. A
 *           replica that hears no notifications is always awake: nobody can tell it what becomes due.
 *   dozing  Its duties rest. One statement every LOOK_MS, the due look, tells what is due and when something is next: a
 *           lease that ends, a `run_at`, an `expires_at`, a tick, a retention, an operation. What is due is done at once.
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

/** Longer than a request and its statements take, and than the periods of duties that note what was done. */
const AWAKE_MS = 6000;
/** While things are done, a replica tells so this often. */
const TELL_MS = 2000;
const ASLEEP_MS = 300_000;
/** A rest is divided into steps of this length. After a step in which the clock was set, it looks at once. */
const STEP_MS = 1000;
/** The clock was set if it differs by more than this from what was expected. */
const CLOCK_SET_MS = 500;

const now = () => performance.now();

export interface Times {
  awakeMs: number;
  asleepMs: number;
}

/** The duties, as far as a rest concerns them. */
interface Duties {
  /** The replica is awake again. */
  resume(): void;
  /** Runs a duty that is due. */
  runDue(name: string): Promise<void> | undefined;
  /** How long until a duty may run again by its own period. */
  leftMs(name: string): number;
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

/** When something was done or asked, and whether the replica is awake, dozes or sleeps by that. */
function createStages({ times }: Context, awakens: () => void) {
  const { awakeMs = AWAKE_MS, asleepMs = ASLEEP_MS } = times ?? {};
  let activeAt = now();
  let askedAt = activeAt;
  let isAwake = true;
  /** The last doze. */
  let dozed = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };

  function wake(): void {
    if (isAwake) return;
    isAwake = true;
    dozed.to = now();
    awakens();
  }

  return {
    isAwake: () => isAwake,
    isAsleep: () => now() > askedAt + asleepMs && now() > activeAt + asleepMs,
    isQuiet: () => now() > activeAt + awakeMs,
    quietMs: () => now() - activeAt,
    dozedSince: (at: number): number => Math.max(0, Math.min(dozed.to, now()) - Math.max(dozed.from, at)),
    wake,

    doze(): void {
      isAwake = false;
      dozed = { from: now(), to: Number.POSITIVE_INFINITY };
    },

    asked(): void {
      askedAt = now();
    },

    /** Something is done, here or on another replica. Returns when. */
    active(): number {
      activeAt = now();
      wake();
      return activeAt;
    },
  };
}

/** Looks for what is due while the replica rests, step by step. */
function startSteps(
  { look, hears, log }: Context,
  stages: ReturnType<typeof createStages>,
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
    next.looked(now() - began);
    const { leftMs, runDue } = duties();
    const left = found.map(({ duty, in_ms }) => ({ duty, ms: Math.max(in_ms, leftMs(duty)) }));
    const due = left.filter(({ ms }) => ms <= 0);
    await Promise.all(due.map(({ duty }) => runDue(duty)));
    // The next look shows what is left of it, and what comes next.
    next.dueIn(due.length > 0 ? 0 : Math.min(...left.map(({ ms }) => ms)));
  }

  /** A look that fails leaves it to the duties to find what is due, as if notifications were not heard. */
  async function lookOrWake(): Promise<void> {
    try {
      await lookNow();
    } catch (error) {
      log(error, 'it is not known what is due, the duties look for it');
      stages.active();
    }
  }

  /** While notifications are not heard, it looks all the same: what it sends with the look may come back again. */
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

export function createRest(context: Context) {
  let duties: Duties = { resume: () => undefined, runDue: () => undefined, leftMs: () => 0 };
  const stages = createStages(context, () => duties.resume());
  const next = createNextLook(now);
  const steps = startSteps(context, stages, next, () => duties);
  let toldAt = Number.NEGATIVE_INFINITY;

  /** Something is done here. Returns a promise when it tells the others now. */
  function active(): Promise<unknown> | undefined {
    const at = stages.active();
    if (at < toldAt + TELL_MS) return undefined;
    toldAt = at;
    return context.tell();
  }

  return {
    isAwake: stages.isAwake,

    /** Whether this replica looked last for what is due, and does not sleep. */
    leads: () => next.leads() && !stages.isAsleep(),

    /** For how long nothing was done, here or on another replica. */
    quietMs: stages.quietMs,

    /** For how many of the milliseconds since `at` it dozed or slept: it would have known of what was due then. */
    dozedSince: stages.dozedSince,

    /** The duties that it wakes, and runs when they are due. */
    begin(to: Duties): void {
      duties = to;
    },

    /** Somebody asks. Returns a promise when other replicas must be told first, because this one was asleep. */
    asked(): Promise<unknown> | undefined {
      const wasAsleep = stages.isAsleep();
      stages.asked();
      return wasAsleep ? active() : undefined;
    },

    /** Something is done that may make something due. */
    active: (): void => void active(),

    /** Another replica, or SQL, does something. */
    heardActive: (): void => void stages.active(),

    /** Another replica has looked: something is due in so many milliseconds, or nothing. */
    heardLook(inMs: number | undefined): void {
      next.heard(inMs);
      steps.plan();
    },

    stop: steps.stop,
  };
}

export type Rest = ReturnType<typeof createRest>;
