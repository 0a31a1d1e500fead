/** Claims that were served within this time are a load that bulk work gives way to. */
const SERVING_MS = 500;
/** Beside claims, a chunk should take about so long, and nothing comes after it for `REST` times as long as it took. */
const CHUNK_MS = 5;
const REST = 1;
const FEWEST = 200;
const MOST = 1000;

/** Does one chunk of up to `size` rows; tells how many it had. */
export type Chunk = (work: (size: number) => Promise<number>) => Promise<number>;

/**
 * Lets bulk work (purges, redrives, sweeps) run beside a steady load. At full speed it keeps a processor of the database
 * busy, and whoever shares that waits: claims had a p99 six times as high. So while claims are served here, chunks are
 * small, one at a time whatever they are of, and followed by a rest; otherwise they are large, and nothing holds them up.
 */
export function createBulkThrottle() {
  let servedAt = Number.NEGATIVE_INFINITY;
  let turn: Promise<void> = Promise.resolve();

  const serving = () => performance.now() - servedAt < SERVING_MS;

  return {
    /** A claim was given jobs. */
    served(): void {
      servedAt = performance.now();
    },

    /** The pace of one piece of bulk work. */
    chunks(): Chunk {
      let fitting = FEWEST;

      return async (work) => {
        if (!serving()) return work(MOST);
        const before = turn;
        let pass: () => void = () => undefined;
        turn = new Promise((resolve) => {
          pass = resolve;
        });
        await before;
        const size = fitting;
        const started = performance.now();
        const took = () => performance.now() - started;
        try {
          const rows = await work(size);
          if (rows === size)
            fitting = Math.round(Math.min(MOST, Math.max(FEWEST, (size * CHUNK_MS) / took())));
          return rows;
        } finally {
          setTimeout(pass, took() * REST);
        }
      };
    },
  };
}

export type BulkThrottle = ReturnType<typeof createBulkThrottle>;
