/** Background work: one thing that is done again and again, such as to rescue leases. */
export interface Duty {
  name: string;
  /**
   * How long after its end it runs again, in ms, while this replica is awake (rest.ts). After a failure it waits this long, too, and
   * at least a second. So work that somebody waits for has a short period.
   */
  everyMs: number;
  /**
   * Returns true when there is more to do at once, or a number when it is due sooner than `everyMs` says. Each
   * statement that it sends keeps PostgreSQL awake, so it sends none when it has nothing to do.
   */
  run(): Promise<boolean | number>;
  /**
   * Whether there is work for it while this replica dozes. Without this function it rests then. For work that one
   * replica does for all, answer `rest.leads()`: it is true on the replica that looked last for what is due.
   */
  worksNow?(): boolean;
  /** How long after its end it runs again while the replica dozes, if that is longer than `everyMs`. */
  dozingMs?: number;
}

/** The pause after a failure, so that an outage does not fill the log. */
const PAUSE_MS = 1000;
/**
 * When a rest ends, a duty waits this long, or for its `everyMs` if that is shorter: the request that ended the rest
 * goes first.
 */
const AFTER_REST_MS = 1000;
/** While the replica dozes, a duty with `worksNow` asks that function this often. */
const LOOK_MS = 1000;

export interface RunningDuty {
  name: string;
  /** Settles when it has run for the first time. */
  begun: Promise<void>;
  /** How long until it may run again by its own `everyMs`. */
  leftMs(): number;
  /**
   * Runs it now, also during a rest. If a run is under way, another one follows it. Settles at the end of the run that
   * was asked for.
   */
  runNow(): Promise<void>;
  /** The replica is awake again. */
  resume(): void;
  stop(): Promise<void>;
}

/**
 * Runs a duty at once, and then again and again: `everyMs` after each end while `isAwake()`, and when it is asked to.
 */
export function startDuty(
  duty: Duty,
  { isAwake = () => true, failed }: { isAwake?: () => boolean; failed(error: unknown): void },
): RunningDuty {
  const { everyMs, run, worksNow, dozingMs = 0 } = duty;
  let stopped = false;
  let asked: (() => void)[] = [];
  let endedAt = 0;
  let pauseMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let goOn: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });

  /** Runs it once. Returns how long to wait then. */
  async function runOnce(): Promise<number> {
    try {
      const answer = await run();
      if (answer === true) return 0;
      return typeof answer === 'number' ? Math.max(0, Math.min(everyMs, answer)) : everyMs;
    } catch (error) {
      failed(error);
      return Math.max(everyMs, PAUSE_MS);
    }
  }

  /** Waits until `ms` are over, or somebody says to go on. Without `ms`: until somebody does. */
  const wait = (ms?: number) =>
    new Promise<void>((resolve) => {
      goOn = resolve;
      if (ms !== undefined) timer = setTimeout(resolve, ms);
    });

  async function untilItIsTime(): Promise<void> {
    let rested = false;
    while (!stopped && asked.length === 0) {
      const isUp = isAwake();
      const leftMs = endedAt + (isUp ? pauseMs : Math.max(pauseMs, dozingMs)) - performance.now();
      if (isUp || worksNow?.()) {
        if (leftMs <= 0 && !rested) return;
        await wait(Math.max(leftMs, rested ? Math.min(everyMs, AFTER_REST_MS) : 0));
        rested = false;
      } else {
        rested = true;
        await wait(worksNow && Math.max(leftMs, LOOK_MS));
      }
      clearTimeout(timer);
    }
  }

  async function loop(): Promise<void> {
    while (!stopped) {
      const answered = asked;
      asked = [];
      pauseMs = await runOnce();
      endedAt = performance.now();
      begin();
      for (const done of answered) done();
      if (pauseMs > 0) await untilItIsTime();
    }
    for (const done of asked) done();
  }
  const running = loop();

  return {
    name: duty.name,
    begun,
    leftMs: () => endedAt + pauseMs - performance.now(),
    runNow() {
      const done = new Promise<void>((resolve) => {
        asked.push(resolve);
      });
      goOn();
      return done;
    },
    resume: () => goOn(),
    stop() {
      stopped = true;
      goOn();
      return running;
    },
  };
}
