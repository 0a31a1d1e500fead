/** How a duty has run on this replica. */
interface Runs {
  seconds: number;
  failures: number;
  lastSeconds: number | undefined;
  /**
   * When the duty last succeeded, by the clock of this machine. If it never did: when the process started. While it
   * rests because nothing is due: now.
   */
  readonly lastSuccess: number;
}

/** Notes how each duty runs. */
export function createDutyLog() {
  const duties = new Map<string, Runs>();

  return {
    all: (): Iterable<[string, Runs]> => duties,

    /** The run of a duty, noted under its name. */
    noting(
      name: string,
      run: () => Promise<boolean | number>,
      rests: () => boolean,
    ): () => Promise<boolean | number> {
      let succeededAt = Date.now() / 1000;
      let hasFailed = false;
      const runs: Runs = {
        seconds: 0,
        failures: 0,
        lastSeconds: undefined,
        get lastSuccess() {
          return rests() && !hasFailed ? Date.now() / 1000 : succeededAt;
        },
      };
      duties.set(name, runs);
      return async () => {
        const began = performance.now();
        try {
          const answer = await run();
          succeededAt = Date.now() / 1000;
          hasFailed = false;
          return answer;
        } catch (error) {
          runs.failures++;
          hasFailed = true;
          throw error;
        } finally {
          runs.lastSeconds = (performance.now() - began) / 1000;
          runs.seconds += runs.lastSeconds;
        }
      };
    },
  };
}

export type DutyLog = ReturnType<typeof createDutyLog>;
