import { restAfter } from '../shareOfTime.ts';

/*
 * When the duties of a replica run, and when they rest. A replica is
 *
 *   awake   Something was done here, or on another replica, in the last AWAKE_MS. All duties run at their periods. So it is, too,
 *           while notifications are not heard: nobody can tell it then what becomes due.
 *   dozing  Its duties rest. One statement every LOOK_MS, the due look, tells what is due and when something is next: a lease that
 *           ends, a `run_at`, an `expires_at`, a tick, a retention, an operation. What is due is done at once.
 *   asleep  Nobody asked for ASLEEP_MS. It sends nothing until the next time that it knows of.
 *
 * The replicas share the due looks. Whoever looks tells the others in the same statement, by NOTIFY, and they put off theirs. All
 * know the next time, so each of them would look then. It is the first one that does: it leads. No row and no lock says who leads.
 * A leader that is killed tells nothing any more, and the next replica looks in its place, LOOK_MS later or when something is due.
 *
 * A replica that begins to do something tells the others (`active`), and they are awake along with it. So what it leaves behind
 * when it is killed is found as soon as ever. From its sleep it tells them before it does anything.
 * See docs/decisions/0065-duties-rest.md.
 */

/** Longer than a request and its statements take, and than the periods of duties that note what was done. */
const AWAKE_MS = 6000;
/** While things are done, a replica tells so this often. */
const TELL_MS = 2000;
const LOOK_MS = 2000;
const ASLEEP_MS = 300_000;
/** Other replicas look so much later than the one that looked last: not all at once, and seldom at all. */
const JITTER_MS = 500;
/** At a time at which something is due they look later, too: by the first of these, and up to the second. */
const DUE_AFTER_MS = 50;
const DUE_JITTER_MS = 100;
/** They leave what is due already to the one that has seen it, for so long. */
const LEFT_MS = 300;
/** A rest goes on in steps of this length, and begins anew where the clock was set meanwhile. */
const STEP_MS = 1000;
/** The clock was set when it is off by more than this. */
const CLOCK_SET_MS = 500;

/** A duty, and in how many milliseconds it is due. */
export interface NextDue {
  duty: string;
  in_ms: number;
}

export interface Times {
  awakeMs: number;
  asleepMs: number;
}

export function createRest(context: {
  /** The due look: tells what is next, here and to the other replicas. */
  look(): Promise<NextDue[]>;
  /** Tells the other replicas that this one is active. */
  tell(): Promise<unknown>;
  /** Whether notifications arrive. */
  hears(): boolean;
  log: (error: unknown, message: string) => void;
  times?: Partial<Times> | undefined;
}) {
  const { look, tell, hears, log } = context;
  const { awakeMs = AWAKE_MS, asleepMs = ASLEEP_MS } = context.times ?? {};
  const now = () => performance.now();
  /** When something was done here, or another replica said that it did something. */
  let activeAt = now();
  /** When something was asked here, or done. */
  let askedAt = activeAt;
  let toldAt = Number.NEGATIVE_INFINITY;
  let isAwake = true;
  let dozed = { from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY };
  /** When to look next without a known reason, and when something is due. */
  let lookAt = 0;
  let dueAt = Number.POSITIVE_INFINITY;
  let leads = true;
  let looking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let clockOffset = Date.now() - now();
  let duties: {
    resume(): void;
    runDue(name: string): Promise<void> | undefined;
    leftMs(name: string): number;
  } = {
    resume: () => undefined,
    runDue: () => undefined,
    leftMs: () => 0,
  };

  const isAsleep = () => now() > askedAt + asleepMs && now() > activeAt + asleepMs;
  const nextAt = () => (isAsleep() ? dueAt : Math.min(lookAt, dueAt));

  function wake(): void {
    if (isAwake || stopped) return;
    isAwake = true;
    dozed.to = now();
    duties.resume();
  }

  /** Awake for AWAKE_MS from now on. */
  function stayAwake(): void {
    activeAt = now();
    wake();
  }

  function isClockSet(): boolean {
    const offset = Date.now() - now();
    const wasSet = Math.abs(offset - clockOffset) > CLOCK_SET_MS;
    clockOffset = offset;
    return wasSet;
  }

  async function lookNow(): Promise<void> {
    const began = now();
    const found = await look();
    const ended = now();
    leads = true;
    lookAt = ended + Math.max(LOOK_MS, restAfter(ended - began, 'due looks'));
    const left = found.map(({ duty, in_ms }) => ({ duty, leftMs: Math.max(in_ms, duties.leftMs(duty)) }));
    const due = left.filter(({ leftMs }) => leftMs <= 0);
    await Promise.all(due.map(({ duty }) => duties.runDue(duty)));
    // The next look shows what is left of it, and what comes next.
    dueAt = now() + (due.length > 0 ? 0 : Math.min(...left.map(({ leftMs }) => leftMs)));
  }

  /** A look that fails leaves the duties to find out what is due, as if notifications were not heard. */
  async function step(): Promise<void> {
    if (isAwake) {
      if (now() < activeAt + awakeMs || !hears()) return;
      isAwake = false;
      dozed = { from: now(), to: Number.POSITIVE_INFINITY };
      lookAt = now() + Math.random() * DUE_JITTER_MS;
      dueAt = Number.POSITIVE_INFINITY;
      return;
    }
    if (!hears()) wake();
    else if (isClockSet() || now() >= nextAt()) {
      looking = lookNow();
      await looking.catch((error) => {
        log(error, 'it is not known what is due, the duties look for it');
        stayAwake();
      });
      looking = undefined;
    }
  }

  function plan(): void {
    clearTimeout(timer);
    if (stopped || looking) return;
    const at = isAwake ? now() + STEP_MS : Math.min(nextAt(), now() + STEP_MS);
    timer = setTimeout(() => void step().finally(plan), Math.max(0, at - now()));
    timer.unref();
  }
  plan();

  function tellActive(): Promise<unknown> {
    toldAt = now();
    return tell();
  }

  return {
    isAwake: () => isAwake,

    /** Whether this replica looked last for what is due, and does not sleep. */
    leads: () => leads && !isAsleep(),

    /** For how long nothing was done, here or on another replica. */
    quietMs: () => now() - activeAt,

    /** For how many of the milliseconds since `at` it dozed or slept: it would have known of what was due then. */
    dozedSince: (at: number): number => Math.max(0, Math.min(dozed.to, now()) - Math.max(dozed.from, at)),

    /** The duties that it wakes, and runs when they are due. */
    begin(to: typeof duties): void {
      duties = to;
    },

    /** Somebody asks. Returns a promise when other replicas must be told first, because this one was asleep. */
    asked(): Promise<unknown> | undefined {
      const wasAsleep = isAsleep();
      askedAt = now();
      if (!wasAsleep) return undefined;
      stayAwake();
      return tellActive();
    },

    /** Something is done that may make something due. */
    active(): void {
      activeAt = now();
      if (!isAwake) wake();
      if (activeAt > toldAt + TELL_MS) void tellActive();
    },

    /** Another replica, or SQL, does something. */
    heardActive: stayAwake,

    /** Another replica has looked: something is due in so many milliseconds, or nothing. */
    heardLook(inMs: number | undefined): void {
      leads = false;
      lookAt = now() + LOOK_MS + Math.random() * JITTER_MS;
      const leftMs = Math.max((inMs ?? Number.POSITIVE_INFINITY) + DUE_AFTER_MS, LEFT_MS);
      dueAt = now() + leftMs + Math.random() * DUE_JITTER_MS;
      plan();
    },

    async stop(): Promise<void> {
      stopped = true;
      clearTimeout(timer);
      await looking?.catch(() => undefined);
    },
  };
}

export type Rest = ReturnType<typeof createRest>;
